package git_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// BenchmarkPath fetches a fleet of 200 files in a folder of a repository of 20,000 files
// and 300 MB. It reports the bytes on the wire in both directions, and the resident memory
// above that at rest. From a server without partial clones the answer is too long. Each run
// needs its own process: go test -run - -bench 'BenchmarkPath/filter$' -benchtime 1x.
func BenchmarkPath(b *testing.B) {
	for name, filter := range map[string]string{"filter": "true", "none": "false"} {
		b.Run(name, func(b *testing.B) {
			p := newPlace(b, gitserver.Options{})
			p.large()
			p.git("config", "uploadpack.allowFilter", filter)
			s, err := gitserver.New(p.root, gitserver.Options{})
			if err != nil {
				b.Fatal(err)
			}
			srv := httptest.NewUnstartedServer(s)
			m := &meter{Listener: srv.Listener}
			srv.Listener = m
			srv.Start()
			defer srv.Close()
			for b.Loop() {
				m.bytes.Store(0)
				rest := resident(b, "VmRSS:")
				if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets the peak
					b.Skip(err)
				}
				r := open(b, git.Options{URL: srv.URL + "/fleet.git", Path: "teams/a"})
				rev, err := r.Resolve(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				_, err = r.Fetch(b.Context(), rev)
				if (err == nil) != (filter == "true") {
					b.Fatal(err)
				}
				b.Log(err)
				b.ReportMetric(float64(m.bytes.Load())/1e6, "MB-wire")
				b.ReportMetric(float64(resident(b, "VmHWM:")-rest)/1e3, "MB-resident")
				b.ReportMetric(float64(r.Held())/1e6, "MB-held")
			}
		})
	}
}

// large fills the repository without a work tree.
func (p *place) large() {
	p.t.Helper()
	cmd := exec.Command("git", "-C", p.bare, "fast-import", "--quiet")
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	fmt.Fprint(in, "commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 1\nm\n")
	add := func(name string, content []byte) {
		fmt.Fprintf(in, "M 100644 inline %s\ndata %d\n%s\n", name, len(content), content)
	}
	noise := rand.NewChaCha8([32]byte{})
	content := make([]byte, 15_000)
	for i := range 20_000 {
		_, _ = noise.Read(content) // it cannot fail
		add(fmt.Sprintf("services/%d/%d/values.bin", i%200, i), content)
	}
	for i := range 200 {
		add(fmt.Sprintf("teams/a/clusters/%d/cluster.yaml", i), []byte(strings.Repeat(fmt.Sprintf("field%d: value\n", i), 100)))
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		p.t.Fatal(err)
	}
}

// resident returns a field of the process's status, in kB.
func resident(b *testing.B, field string) (kB int64) {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(status), field)
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		b.Fatal(err)
	}
	return kB
}
