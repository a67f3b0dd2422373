package cloud

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"fairlead.dev/providers/driver/openstackauth"
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Tick == 0 {
		o.Tick = DefaultTick
	}
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	return o
}

// Sessions holds one Project per credential.
type Sessions struct {
	o Options

	mu       sync.Mutex
	projects map[string]*session
}

// A session is a project, and when it was last asked for.
type session struct {
	project *Project
	used    time.Time
}

// NewSessions returns Sessions without any project.
func NewSessions(o Options) *Sessions {
	return &Sessions{o: o.withDefaults(), projects: make(map[string]*session)}
}

// Project returns the project of c. Nothing is asked of the cloud yet. The same
// credential gives the same Project; a rotated one gives a new one.
func (s *Sessions) Project(c openstackauth.Credential) (*Project, error) {
	key := c.Digest()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.projects[key]; ok {
		p.used = time.Now()
		return p.project, nil
	}
	made, err := newProject(s.o, c)
	if err != nil {
		return nil, err
	}
	for k, p := range s.projects { // those of credentials that were rotated away
		if time.Since(p.used) > time.Hour {
			p.project.Close()
			delete(s.projects, k)
		}
	}
	s.projects[key] = &session{made, time.Now()}
	return made, nil
}

// Tick is how old a shared snapshot may be.
func (s *Sessions) Tick() time.Duration { return s.o.Tick }

// Close closes idle connections.
func (s *Sessions) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.projects {
		p.project.Close()
	}
}
