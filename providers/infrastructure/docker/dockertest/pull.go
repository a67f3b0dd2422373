package dockertest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"
)

// A Pull is how a registry, and the daemon's way to it, answer a pull of an image.
type Pull struct {
	MB     []int64       // sizes of the layers
	Every  time.Duration // between two messages; each layer has twenty
	Status int           // of a refusal at once; 0: none
	After  time.Duration // until the refusal, as of a name server that is silent
	Words  string        // of the refusal; without Status the pull ends with it half way
	Hangs  bool          // half way, the daemon goes silent
	Cut    bool          // half way, the connection is closed
	Forget bool          // the daemon ends the pull well, and has no image
}

// Offer has a registry answer pulls of an image. One that no registry offers does not exist.
func (d *Daemon) Offer(image string, p Pull) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.registry[image] = p
}

// Load has the host have an image, as "docker load" does.
func (d *Daemon) Load(image string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.images[image] = true
}

// Pulls returns how many pulls were requested.
func (d *Daemon) Pulls() (n int) {
	for _, c := range d.Calls() {
		if c.Path == "/images/create" {
			n++
		}
	}
	return n
}

// pull answers a pull. The caller holds mu.
func (d *Daemon) pull(ctx context.Context, query url.Values) *http.Response {
	image := strings.TrimPrefix(strings.TrimPrefix(query.Get("fromImage"), "docker.io/"), "library/") // as people write it
	if tag := query.Get("tag"); tag != "" {
		image += ":" + tag
	}
	p, ok := d.registry[image]
	if !ok {
		p = Pull{Status: http.StatusNotFound, Words: "manifest for " + image + " not found: manifest unknown: manifest unknown"}
	}
	if p.Status != 0 {
		d.mu.Unlock()
		select {
		case <-time.After(p.After):
		case <-ctx.Done():
		}
		d.mu.Lock()
		w := httptest.NewRecorder()
		fail(w, p.Status, p.Words)
		return w.Result()
	}
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(d.send(ctx, w, image, p)) }()
	return &http.Response{StatusCode: http.StatusOK, Body: r, Header: make(http.Header), ProtoMajor: 1, ProtoMinor: 1}
}

// send sends the messages of a pull.
func (d *Daemon) send(ctx context.Context, w io.Writer, image string, p Pull) error {
	say := func(m map[string]any) error { return json.NewEncoder(w).Encode(m) }
	if err := say(map[string]any{"status": "Pulling from " + image, "id": "latest"}); err != nil {
		return err
	}
	for step := range 21 {
		for i, mb := range p.MB {
			m := map[string]any{"status": "Downloading", "id": string(rune('a' + i)), "progressDetail": map[string]int64{"current": mb * 5e4 * int64(step), "total": mb * 1e6}}
			if step == 20 {
				m["status"], m["progressDetail"] = "Download complete", map[string]int64{}
			}
			if err := say(m); err != nil {
				return err
			}
		}
		switch {
		case step != 10:
		case p.Words != "":
			return say(map[string]any{"error": p.Words, "errorDetail": map[string]string{"message": p.Words}})
		case p.Cut:
			return io.ErrUnexpectedEOF
		case p.Hangs:
			<-ctx.Done()
			return ctx.Err()
		}
		select {
		case <-time.After(p.Every):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !p.Forget {
		d.Load(image)
	}
	return nil
}
