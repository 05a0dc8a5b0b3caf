//go:build unix

package lockfile

import engine "github.com/seed-c461eb89/nodelock/internal/lockfile"

const defaultFiletime = engine.Ctime
