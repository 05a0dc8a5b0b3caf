//go:build unix

package filesystem

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// milliseconds are times to set, before 1970 too.
func milliseconds() []int64 {
	ms := []int64{0, 1, -1, 999, -999, 1000, -1000, 1001, -1001, -1500, 1700000000000, 1700000000001, 1700000000076, 1700000001005, -1234567890123}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		ms = append(ms, 1600000000000+random.Int64N(4e11), random.Int64N(2e12)-2e12, random.Int64N(2000)-1000)
	}
	return ms
}

// Node sets the times of files and tells what the filesystem then has.
func TestUtimesStoresWhatNodeStores(t *testing.T) {
	node(t)
	emptyDirectory(t)
	ms := milliseconds()
	input, err := json.Marshal(ms)
	must(t, err)
	cmd := exec.Command(node(t), "-e", `
const fs = require('fs')
const stored = JSON.parse(fs.readFileSync(0, 'utf8')).map(ms => {
  fs.writeFileSync('node', '')
  fs.utimesSync('node', new Date(ms), new Date(ms))
  const s = fs.statSync('node', { bigint: true })
  return [String(s.mtimeNs), String(s.atimeNs)]
})
const [major, minor] = process.versions.uv.split('.').map(Number)
console.log(JSON.stringify({ stored, uncut: major > 1 || minor >= 52 }))`)
	cmd.Stdin = strings.NewReader(string(input))
	output, err := cmd.Output()
	must(t, err)
	var nodes struct {
		Stored [][2]string
		Uncut  bool
	}
	must(t, json.Unmarshal(output, &nodes))
	if nodes.Uncut {
		t.Skip("the libuv of this Node stores fractions of a microsecond")
	}
	must(t, os.WriteFile("go", nil, 0o644))
	for i, ms := range ms {
		must(t, OS{}.Utimes("go", ms))
		s, err := OS{}.Stat("go")
		must(t, err)
		if got := strconv.FormatInt(s.ModTime.UnixNano(), 10); got != nodes.Stored[i][0] || got != nodes.Stored[i][1] {
			t.Errorf("%d is stored as %s; by Node as %s, access time %s", ms, got, nodes.Stored[i][0], nodes.Stored[i][1])
		}
	}
}

// Files have times to the nanosecond, and Node tells what it reads.
func TestMillisecondsAreWhatNodeReads(t *testing.T) {
	node(t)
	emptyDirectory(t)
	random := rand.New(rand.NewPCG(3, 4))
	var times []time.Time
	for _, sec := range []int64{0, -1, 1, 1700000000, -1234567890} {
		for _, nsec := range []int64{0, 1, 499999, 499_999_999, 500_000, 500_001, 999_499_999, 999_500_000, 999_999_999} {
			times = append(times, time.Unix(sec, nsec))
		}
	}
	for range 500 {
		times = append(times, time.Unix(random.Int64N(4e9)-1e9, random.Int64N(1e9)), time.Unix(1700000000, random.Int64N(1000)*1_000_000+500_000))
	}
	for i, stamp := range times {
		name := fmt.Sprint(i)
		must(t, os.WriteFile(name, nil, 0o644))
		must(t, os.Chtimes(name, stamp, stamp))
	}
	output, err := exec.Command(node(t), "-e", `
const fs = require('fs'), read = []
for (let i = 0; fs.existsSync(String(i)); i++) read.push(fs.statSync(String(i)).mtime.getTime())
console.log(JSON.stringify(read))`).Output()
	must(t, err)
	var nodes []int64
	must(t, json.Unmarshal(output, &nodes))
	if len(nodes) != len(times) {
		t.Fatalf("%d of %d", len(nodes), len(times))
	}
	for i, stamp := range times {
		s, err := OS{}.Stat(fmt.Sprint(i))
		must(t, err)
		if !s.ModTime.Equal(stamp) {
			t.Skipf("this filesystem has %v for %v", s.ModTime, stamp)
		}
		if got := nodetime.Milliseconds(s.ModTime); got != nodes[i] {
			t.Errorf("%v is %d; in Node %d", stamp, got, nodes[i])
		}
	}
}
