module github.com/seed-c461eb89/nodelock/internal/benchmark

go 1.26

require (
	github.com/gofrs/flock v0.13.0
	github.com/seed-c461eb89/nodelock v0.0.0
	golang.org/x/sys v0.46.0
)

require github.com/fsnotify/fsnotify v1.10.1 // indirect

replace github.com/seed-c461eb89/nodelock => ../..
