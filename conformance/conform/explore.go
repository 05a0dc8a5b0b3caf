package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/explore"
)

// exploreAll explores the list of configurations and prints a table; or plays one
// schedule.
func exploreAll(args []string, _ io.Reader, stdout, _ io.Writer) error {
	flags := newFlags("explore")
	long := flags.Bool("long", false, "")
	transcripts := flags.Bool("transcripts", false, "")
	table := flags.Bool("table", false, "")
	seed := flags.String("replay", "", "")
	if err := parse(flags, args, stdout); err != nil {
		return err
	}
	if *seed != "" && flags.NArg() == 0 {
		return playSeed(*seed, stdout)
	}
	if *table {
		text, err := explore.Protection()
		fmt.Fprint(stdout, text)
		return err
	}
	list := explore.Configurations(*long)
	if flags.NArg() > 0 {
		var err error
		if list, err = named(flags.Args()); err != nil {
			return err
		}
	}
	began := time.Now()
	results, err := exploreEach(list)
	if err != nil {
		return err
	}
	lines := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "configuration\tparticipants\tcrashes\tpauses\tstates\tschedules\ttime\tviolated")
	unexpected, found, steps := 0, 0, 0
	for _, r := range results {
		found += r.States
		steps += r.Steps
		fmt.Fprintf(lines, "%s\t%s\t%d\t%d\t%s\t%s\t%.1f s\t%s\n",
			r.Config.Name, participantsOf(r.Config), r.Config.Crashes, r.Config.Pauses, states(r), number(r.Schedules), r.Duration.Seconds(), violated(r))
		if !r.Expected() {
			unexpected++
		}
	}
	if err := lines.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if r.Expected() && !*transcripts {
			continue
		}
		for _, v := range r.Violations {
			fmt.Fprintf(stdout, "\n%s: %d steps violate it\n", v.Invariant, v.Steps)
			if err := playSeed(v.Seed, stdout); err != nil {
				return err
			}
		}
	}
	took := time.Since(began).Seconds()
	fmt.Fprintf(stdout, "\n%d configurations, %d states and %d steps in %.1f s", len(results), found, steps, took)
	if unexpected > 0 {
		fmt.Fprintf(stdout, ", %d are not what is expected\n", unexpected)
		return errFailed
	}
	fmt.Fprintln(stdout, ", all as expected")
	return nil
}

func named(names []string) ([]explore.Config, error) {
	var list []explore.Config
	for _, name := range names {
		c, _, err := explore.Find(name + ":")
		if err != nil {
			return nil, fmt.Errorf("%w: %v", errUsage, err)
		}
		list = append(list, *c)
	}
	return list, nil
}

// exploreEach explores as many at once as there are processors, those first that take long.
func exploreEach(list []explore.Config) ([]*explore.Result, error) {
	results, errs := make([]*explore.Result, len(list)), make([]error, len(list))
	var next, group = make(chan int), sync.WaitGroup{}
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				results[i], errs[i] = list[i].Explore()
			}
		})
	}
	for _, large := range []bool{true, false} {
		for i := range list {
			if list[i].Large == large {
				next <- i
			}
		}
	}
	close(next)
	group.Wait()
	return results, errors.Join(errs...)
}

func playSeed(seed string, stdout io.Writer) error {
	c, schedule, err := explore.Find(seed)
	if err != nil {
		return fmt.Errorf("%w: %v", errUsage, err)
	}
	text, err := c.Transcript(schedule)
	fmt.Fprintf(stdout, "%s\n\n%s", seed, text)
	if err != nil {
		return fmt.Errorf("%w: %v", errUsage, err)
	}
	return nil
}

// participantsOf names the participants, and says how many there are of each.
func participantsOf(c *explore.Config) string {
	var kinds []string
	counts := map[string]int{}
	for _, p := range c.Participants {
		if counts[p.Kind]++; counts[p.Kind] == 1 {
			kinds = append(kinds, p.Kind)
		}
	}
	for i, kind := range kinds {
		if counts[kind] > 1 {
			kinds[i] = fmt.Sprintf("%d × %s", counts[kind], kind)
		}
	}
	return strings.Join(kinds, " + ")
}

func states(r *explore.Result) string {
	switch {
	case r.Config.Walks > 0:
		return "at random"
	case r.Cut > 0:
		return fmt.Sprintf("%d, %d cut off", r.States, r.Cut)
	}
	return fmt.Sprint(r.States)
}

// number writes a number of schedules, which can be beyond all bounds.
func number(n float64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1e", n)
}

func violated(r *explore.Result) string {
	var list []string
	for _, v := range r.Violations {
		list = append(list, v.Invariant.String())
	}
	text := "none"
	if len(list) > 0 {
		text = strings.Join(list, ", ")
	}
	if !r.Expected() {
		text += " (NOT AS EXPECTED)"
	}
	return text
}
