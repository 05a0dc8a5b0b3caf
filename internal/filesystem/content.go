package filesystem

// The calls for files that have something in them.

// OpenTruncate opens a file for writing that is empty then: it creates it, with mode
// 0666 less the umask, or cuts off what is in the one at path. On Unix a link at path
// is not followed but fails with ELOOP, and what is no file never makes it wait.
func (OS) OpenTruncate(path string) (Handle, error) {
	h, err := openTruncate(path)
	if err != nil {
		return noHandle, failed("open", path, err)
	}
	return h, nil
}

// Write writes all of data at h's position. A disk that fills up may leave a part of
// it in the file.
func (OS) Write(h Handle, data []byte) error {
	for len(data) > 0 {
		n, err := write(h, data)
		if err == nil && n == 0 {
			err = codedError("EIO") // or it would go on forever
		}
		if err != nil {
			return failed("write", "", err)
		}
		data = data[n:]
	}
	return nil
}

// OpenNoFollow opens what is at path for reading. It does not follow a link there but
// fails (with ELOOP; on FreeBSD with EMLINK), and it does not wait for anything: a FIFO
// without a writer is opened, and [OS.Fstat] tells what it is.
func (OS) OpenNoFollow(path string) (Handle, error) {
	h, err := openNoFollow(path)
	if err != nil {
		return noHandle, failed("open", path, err)
	}
	return h, nil
}

// Read returns what h has from its position to the end, but no more than limit bytes.
// It is for regular files: a read that is short for another reason than the end is
// taken up again.
func (OS) Read(h Handle, limit int) ([]byte, error) {
	// Room for a record, and for noticing its end.
	data := make([]byte, 0, min(limit, 512))
	for len(data) < limit {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := read(h, data[len(data):min(cap(data), limit)])
		if err != nil {
			return nil, failed("read", "", err)
		}
		if n == 0 {
			break
		}
		data = data[:len(data)+n]
	}
	return data, nil
}
