module github.com/seed-c461eb89/nodelock

go 1.25.0

require (
	github.com/fsnotify/fsnotify v1.10.1
	github.com/google/go-cmp v0.7.0
	golang.org/x/sys v0.46.0
)

require (
	github.com/rogpeppe/go-internal v1.14.1
	golang.org/x/tools v0.26.0 // indirect
)
