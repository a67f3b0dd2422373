package git

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// A prelude passes on the answer to a fetch. It ends with errLong where the lines before
// the pack, acknowledgements and shallow commits, do not end: go-git keeps all of them in
// memory.
type prelude struct {
	r    *bufio.Reader
	left int // bytes left of the current line
	used int // bytes of all lines
	over bool
}

func newPrelude(r io.Reader) *prelude { return &prelude{r: bufio.NewReader(r)} }

// Read implements io.Reader.
func (p *prelude) Read(b []byte) (int, error) {
	if p.left == 0 && !p.over {
		if p.begin(); p.used > maxPrelude {
			return 0, fmt.Errorf("%w: it has more than %d bytes before the pack", errLong, maxPrelude)
		}
	}
	if p.over {
		return p.r.Read(b)
	}
	n, err := p.r.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}

// begin reads the length of the next line, and whether the line belongs to the prelude.
// Source: git, gitprotocol-pack(5).
func (p *prelude) begin() {
	head, _ := p.r.Peek(4) // errors are for the reader
	n, err := strconv.ParseUint(string(head), 16, 16)
	switch {
	case err != nil || len(head) < 4 || n > 0 && n < 4: // no line, or one that is cut off
		p.over = true
	case n <= 4: // a flush, or a line with nothing in it
		p.left = 4
	default:
		head, _ = p.r.Peek(min(int(n), 8))
		for _, word := range []string{"ACK ", "NAK", "shal", "unsh"} {
			if bytes.HasPrefix(head[4:], []byte(word)) {
				p.left = int(n)
			}
		}
		p.over = p.left == 0
	}
	p.used += p.left
}
