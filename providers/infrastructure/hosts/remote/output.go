package remote

import "errors"

// What is kept of what a host writes: a broken one may write without end.
const (
	mostOutput = 1 << 20
	mostErrors = 64 << 10
)

var errTooMuch = errors.New("it wrote more than a megabyte")

// An output keeps what is written to it up to a bound, and calls full beyond that. It
// is no bytes.Buffer, which io.Copy reads into without a bound.
type output struct {
	kept []byte
	most int
	full func()
	over bool
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	if len(o.kept)+len(b) > o.most {
		o.over = true
		o.full()
		return 0, errTooMuch
	}
	o.kept = append(o.kept, b...)
	return len(b), nil
}

// A tail keeps the end of its input.
type tail struct {
	kept []byte
	most int
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b[max(0, len(b)-t.most):]...)
	if over := len(t.kept) - t.most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}
