package webhook

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/agent/observability/server"
	"fairlead.dev/test/run/waits"
)

// serving serves h as the agent does, and returns its address.
func serving(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Serve(ctx, l, h, server.Options{Log: slog.New(slog.DiscardHandler)}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// zeros is n bytes, and counts how many were taken.
type zeros struct {
	left  int64
	taken atomic.Int64
}

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left -= n
	z.taken.Add(n)
	return int(n), nil
}

// A hundred megabytes, announced or not: they are refused, and not read.
func TestHugeBody(t *testing.T) {
	h, _ := listening(t, nil)
	address := serving(t, h)
	for name, length := range map[string]int64{"announced": 100 << 20, "in chunks": -1} {
		t.Run(name, func(t *testing.T) {
			body := &zeros{left: 100 << 20}
			r, err := http.NewRequest("POST", "http://"+address+"/hook/github", body)
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = length
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Hub-Signature-256", "sha256="+sum(secret, ""))
			res, err := new(http.Transport).RoundTrip(r)
			if err == nil {
				res.Body.Close()
				if res.StatusCode != 413 {
					t.Errorf("got %s, want 413", res.Status)
				}
			} // else the server hung up while we were still sending
			if taken := body.taken.Load(); taken > 16<<20 {
				t.Errorf("the server took %d MiB", taken>>20)
			}
		})
	}
}

func TestHugeHeader(t *testing.T) {
	h, _ := listening(t, nil)
	r, err := http.NewRequest("POST", "http://"+serving(t, h)+"/hook/github", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Filler", strings.Repeat("a", 300<<10))
	res, err := new(http.Transport).RoundTrip(r)
	if err != nil {
		return // the server hung up
	}
	res.Body.Close()
	if res.StatusCode != 431 {
		t.Errorf("got %s, want 431", res.Status)
	}
}

// Who sends a body byte by byte holds a slot for a while, and there are so many
// slots. Others are told to come again, and are served once a slot is free.
func TestSlowBodies(t *testing.T) {
	h, did := listening(t, nil)
	address := serving(t, h)
	var slow []net.Conn
	for range 32 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "POST /hook/github HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
		slow = append(slow, c)
	}
	until(t, "all slots are taken", func() bool { return len(h.slots) == 32 })
	if code, _ := serve(h, signedGitHub(githubPush)); code != 429 {
		t.Errorf("got %d while all slots are taken, want 429", code)
	}
	slow[0].Close()
	until(t, "a slot is free", func() bool { return len(h.slots) == 31 })
	if code, _ := serve(h, signedGitHub(githubPush)); code != 202 {
		t.Errorf("got %d with a free slot, want 202", code)
	}
	if polls, _ := did.count(); polls != 1 {
		t.Errorf("%d polls, want 1", polls)
	}
}

// until polls a condition for as long as the test may take.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(waits.Limit)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for: %s", what)
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
}

// deadlines is a writer that notes the deadline that it was given for reading.
type deadlines struct {
	http.ResponseWriter
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = t
	return nil
}

func TestBodiesHaveADeadline(t *testing.T) {
	h, _ := listening(t, nil)
	w := &deadlines{ResponseWriter: nobody{http.Header{}}}
	start := time.Now()
	h.ServeHTTP(w, signedGitHub(githubPush))
	if took := w.read.Sub(start); took < 10*time.Second || took > 30*time.Second {
		t.Errorf("a body may take %v, want 10 s to 30 s", took)
	}
}

type nobody struct{ header http.Header }

func (n nobody) Header() http.Header         { return n.header }
func (n nobody) Write(p []byte) (int, error) { return len(p), nil }
func (n nobody) WriteHeader(int)             {}

// A storm of forged, replayed and genuine calls: each has its answer, the
// genuine one is heard once, and the memory stays where it was.
func TestStorm(t *testing.T) {
	h, did := listening(t, nil)
	address := serving(t, h)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	forged := strings.Repeat("a", 10_000)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			in := bufio.NewReader(c)
			for i := range 250 {
				body, signature := forged, sum("guess", forged)
				if (i+worker)%10 == 0 {
					body, signature = githubPush, sum(secret, githubPush)
				}
				fmt.Fprintf(c, "POST /hook/github HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\nX-Hub-Signature-256: sha256=%s\r\nContent-Length: %d\r\n\r\n%s", signature, len(body), body)
				res, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
	wg.Wait()
	polls, results := did.count()
	if polls != 1 || results["github unauthorized"] != 1800 || results["github replayed"] != 199 {
		t.Errorf("%d polls and %v, want 1 poll, 1800 unauthorized and 199 replayed", polls, results)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d KiB over 2000 calls", grown>>10)
	}
}

// Whatever comes, nothing panics, and nobody without the secret makes a poll.
func FuzzHandler(f *testing.F) {
	for _, body := range []string{githubPush, githubPing, gitlabPush, giteaPush, cloudPush, centerPush, "{}", "[]", "null", `{"push":{"changes":[{}]}}`} {
		for i := range Kinds() {
			f.Add(uint8(i), "push", body, true)
			f.Add(uint8(i), "repo:push", body, false)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, name, body string, genuine bool) {
		h, did := listening(t, nil)
		kind := Kinds()[int(n)%len(Kinds())]
		r := call(kind, body)
		for _, header := range []string{"X-GitHub-Event", "X-Gitea-Event", "X-Event-Key"} {
			r.Header[header] = []string{name}
		}
		key := "guess"
		if genuine {
			key = secret
		}
		r.Header.Set("X-Gitlab-Token", key)
		r.Header.Set("X-Gitea-Signature", sum(key, body))
		for _, header := range []string{"X-Hub-Signature", "X-Hub-Signature-256", "X-Signature"} {
			r.Header.Set(header, "sha256="+sum(key, body))
		}
		code, _ := serve(h, r)
		polls, results := did.count()
		if !genuine && (code != 401 || polls != 0) {
			t.Errorf("without the secret: %d and %d polls, want 401 and none", code, polls)
		}
		if len(results) != 1 || polls > 1 {
			t.Errorf("%d polls and results %v of one call", polls, results)
		}
	})
}
