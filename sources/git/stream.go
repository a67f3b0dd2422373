package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// A stream is a session over the pipes of a git process, here or behind ssh.
type stream struct {
	in     io.WriteCloser
	out    io.Reader
	stderr *words
	stop   func()       // ends the process at once; may be called again
	wait   func() error // waits for its end
	done   bool         // the process ends by itself
	asked  *packp.AdvRefs
	empty  bool // an empty repository is no error

	multiACK bool // the server requires multi_ack
}

func (s *stream) refs(context.Context) (*packp.AdvRefs, error) {
	if s.asked != nil {
		return s.asked, nil
	}
	ar := packp.NewAdvRefs()
	err := ar.Decode(bounded(s.out, maxListed))
	if errors.Is(err, packp.ErrEmptyAdvRefs) || err == nil && ar.IsEmpty() && !s.empty {
		return nil, transport.ErrEmptyRemoteRepository
	}
	if err != nil {
		return nil, s.fail(err)
	}
	transport.FilterUnsupportedCapabilities(ar.Capabilities)
	s.asked = ar
	return ar, nil
}

// list reads the refs that begin with prefixes, or all, and ends the process.
func (s *stream) list(prefixes []string) (listing, error) {
	got, err := listed(s.out, prefixes, func(request []byte) (io.ReadCloser, error) {
		_, err := s.in.Write(request)
		return io.NopCloser(s.out), err
	})
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		s.close()
		return listing{}, err
	}
	if err != nil {
		return listing{}, s.fail(err)
	}
	s.close()
	return got, nil
}

func (s *stream) fetch(_ context.Context, req *packp.UploadPackRequest) (io.ReadCloser, error) {
	if s.multiACK {
		if err := req.Capabilities.Set(capability.MultiACK); err != nil {
			return nil, err
		}
	}
	err := errors.Join(req.UploadRequest.Encode(s.in), req.UploadHaves.Encode(s.in, len(req.Haves) > 0))
	if err == nil {
		err = pktline.NewEncoder(s.in).EncodeString("done\n")
	}
	if err != nil {
		return nil, s.fail(err)
	}
	res := packp.NewUploadPackResponse(req)
	if err := res.Decode(io.NopCloser(newPrelude(s.out))); err != nil {
		return nil, s.fail(err)
	}
	return res, nil
}

func (s *stream) push(_ context.Context, req *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error) {
	if err := req.Encode(s.in); err != nil {
		return nil, s.fail(err)
	}
	r := s.out
	if req.Capabilities.Supports(capability.Sideband64k) {
		d := sideband.NewDemuxer(sideband.Sideband64k, r)
		d.Progress = req.Progress
		r = d
	}
	report := packp.NewReportStatus()
	if err := report.Decode(r); err != nil {
		return nil, s.fail(err)
	}
	s.done = true
	return report, report.Error()
}

// close ends the process. After an answer it may finish its hooks.
func (s *stream) close() {
	_ = s.in.Close()
	if !s.done {
		s.stop()
	}
	_ = s.wait()
	s.stop()
}

// fail ends the process, and adds its output to err.
func (s *stream) fail(err error) error {
	s.done = s.done || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, packp.ErrEmptyInput) ||
		errors.Is(err, syscall.EPIPE) // the other side closed the connection, and may be about to say why
	s.close()
	if said := s.stderr.String(); said != "" {
		return &spokenError{said: said, err: err}
	}
	return err
}

// A spokenError is an error with the other side's message.
type spokenError struct {
	said string
	err  error
}

func (e *spokenError) Error() string { return e.said }
func (e *spokenError) Unwrap() error { return e.err }

// words keeps the beginning of an output.
type words struct {
	mu  sync.Mutex
	buf strings.Builder
}

const maxWords = 4096

// Write implements io.Writer. It accepts everything.
func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p[:min(len(p), maxWords-w.buf.Len())])
	return len(p), nil
}

// String returns the output on one line, without the prefix "remote:".
func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for l := range strings.FieldsFuncSeq(w.buf.String(), func(r rune) bool { return r == '\n' || r == '\r' }) {
		l = strings.TrimSpace(strings.TrimPrefix(l, "remote:"))
		if strings.Trim(l, "= ") != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "; ")
}

// fileRemote serves a local repository by the git binary, without a shell.
type fileRemote struct {
	path  string
	limit int64
}

func (r *fileRemote) open(ctx context.Context, service string) (session, error) {
	s, err := r.start(ctx, service, "version=0")
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (r *fileRemote) list(ctx context.Context, prefixes []string) (listing, error) {
	s, err := r.start(ctx, uploadPack, protocol2)
	if err != nil {
		return listing{}, err
	}
	return s.list(prefixes)
}

func (r *fileRemote) start(ctx context.Context, service, protocol string) (*stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "git", strings.TrimPrefix(service, "git-"), r.path)
	cmd.Env = append(childEnvironment(os.Environ()), "LC_ALL=C", "GIT_PROTOCOL="+protocol)
	cmd.WaitDelay = 5 * time.Second
	said := &words{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err == nil {
		var out io.ReadCloser
		if out, err = cmd.StdoutPipe(); err == nil {
			if err = cmd.Start(); err == nil {
				return &stream{
					in: in, out: bounded(out, r.limit), stderr: said, empty: service == receivePack,
					stop: cancel, wait: sync.OnceValue(cmd.Wait),
				}, nil
			}
		}
	}
	cancel()
	return nil, fmt.Errorf("run git: %w", err)
}
