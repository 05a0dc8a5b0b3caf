// Package testdata holds what Node did: the recordings that the engines are held to,
// and other answers that were asked of Node. README.md says what each file is.
package testdata

import "embed"

// Recordings has a directory for each system, with files of recordings in it. See
// conformance/FORMAT.md for what is in them.
//
//go:embed lockfile/*.json properlockfile/*.json lockdir/*.json
var Recordings embed.FS

// Retry is what both versions of the package retry did with random options. See
// conformance/node/retry.js.
//
//go:embed retry.json
var Retry []byte
