// Package node has the JavaScript side of the conformance suite: the recorder, and
// the participant that takes locks with the published packages.
package node

import "embed"

// Participant is what a Node participant needs: package.json and package-lock.json,
// which npm installs the packages from, and participant.js.
//
//go:embed package.json package-lock.json participant.js
var Participant embed.FS
