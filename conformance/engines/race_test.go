//go:build race

package engines

const raceEnabled = true
