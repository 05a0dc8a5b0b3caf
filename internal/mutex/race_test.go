//go:build race

package mutex

const race = true
