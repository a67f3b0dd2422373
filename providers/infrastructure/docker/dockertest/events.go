package dockertest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/moby/moby/api/types/events"
)

// tell sends an event. One that a listener does not take in time is lost. The caller holds mu.
func (d *Daemon) tell(action events.Action, c *Container) {
	text, _ := json.Marshal(events.Message{Type: events.ContainerEventType, Action: action, Actor: events.Actor{ID: c.ID, Attributes: c.Labels}}) // texts can always be written
	for l, hears := range d.listeners {
		if !hears {
			continue
		}
		select {
		case l <- string(text) + "\n":
		default:
		}
	}
}

// HangUp closes the connections on which events are sent.
func (d *Daemon) HangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hangUp()
}

func (d *Daemon) hangUp() {
	for l := range d.listeners {
		close(l)
		delete(d.listeners, l)
	}
}

// events returns the answer with events, until ctx ends or the daemon hangs up. As with podman 4, a filter for a label
// without a value lets none through. The caller holds mu.
func (d *Daemon) events(ctx context.Context, query url.Values) *http.Response {
	r, w := io.Pipe()
	l := make(chan string, 100)
	d.listeners[l] = !strings.Contains(query.Get("filters"), `"label"`)
	go func() {
		defer w.Close()
		for {
			select {
			case text, ok := <-l:
				if _, err := io.WriteString(w, text); !ok || err != nil {
					return
				}
			case <-ctx.Done():
				d.mu.Lock()
				defer d.mu.Unlock()
				delete(d.listeners, l)
				return
			}
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: r, Header: make(http.Header), ProtoMajor: 1, ProtoMinor: 1}
}
