package cloud

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/transport/logins"
)

// Options say how to reach clouds. Zero values mean the defaults.
type Options struct {
	Log     *slog.Logger
	Tick    time.Duration            `setting:"tick" usage:"maximum age of cached data of an OpenStack project, as a 'duration'; clusters of that project share the cache"`
	Rate    float64                  `setting:"rate" usage:"requests per second to an OpenStack project"` // negative: no bound
	Timeout time.Duration            // of one request; default 2 min
	Observe func(openstackauth.Call) // called with each request
	Base    http.RoundTripper        // instead of the network, in tests
}

// Defaults of Options.
const (
	DefaultTick = 10 * time.Second
	DefaultRate = 20 // requests per second
)

func (o Options) withDefaults() Options {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Tick, o.Rate, o.Timeout = cmp.Or(o.Tick, DefaultTick), cmp.Or(o.Rate, DefaultRate), cmp.Or(o.Timeout, 2*time.Minute)
	return o
}

// Sessions holds one Project per credential.
type Sessions struct {
	o        Options
	projects *logins.Pool[string, *Project] // by digest
}

// NewSessions returns Sessions without any project.
func NewSessions(o Options) *Sessions {
	return &Sessions{o.withDefaults(), logins.New[string, *Project](nil)}
}

// Project returns the project of c. Nothing is asked of the cloud yet. The same
// credential gives the same Project; a rotated one gives a new one.
func (s *Sessions) Project(c openstackauth.Credential) (*Project, error) {
	return s.projects.Client(c.Digest(), c.Digest(), func(*logins.Gate) (*Project, error) { return newProject(s.o, c) })
}

// Tick is how old a shared snapshot may be.
func (s *Sessions) Tick() time.Duration { return s.o.Tick }

// Close closes idle connections.
func (s *Sessions) Close() { s.projects.Close() }
