package wiring

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/agent/loop/reports"
	forges "fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
)

// Page says how a fleet is shown, and where.
type Page struct {
	Address  string        // empty: it is not
	Hosts    []string      // names that it is asked for by
	Forge    string        // kind of the forge that it links to; empty: that of pull requests, or what the host name tells
	Interval time.Duration // between looks at the status branch; 0: 10 s
}

// NewPage returns the page of the fleet of s, and what it is fed by: the status branch
// called branch.
func (s Settings) NewPage(o Page, branch string, facts func() []page.Fact) (*page.Page, *page.Feed, error) {
	p, err := s.openPage(o, branch)
	if err != nil {
		return nil, nil, err
	}
	feed, err := s.newFeed(p, o, branch, facts)
	return p, feed, err
}

func (s Settings) openPage(o Page, branch string) (*page.Page, error) {
	if o.Forge == "" && slices.Contains(forges.Kinds(), s.Forge.Kind) {
		o.Forge = s.Forge.Kind
	}
	links, err := forges.LinksOf(o.Forge, s.Source)
	if err != nil {
		return nil, err
	}
	at, err := forges.LinksOf(o.Forge, cmp.Or(s.StatusRepository, s.Source))
	if err != nil {
		return nil, err
	}
	return page.New(page.Options{
		Hosts: o.Hosts, Source: WithoutUser(s.Source), Path: s.Path, Branch: cmp.Or(branch, fleet.DefaultStatusBranch), Forge: links, StatusForge: at,
		Started: time.Now(), Log: s.Log,
	})
}

func (s Settings) newFeed(p *page.Page, o Page, branch string, facts func() []page.Fact) (*page.Feed, error) {
	b, err := s.OpenBranch(branch)
	if err != nil {
		return nil, err
	}
	verify, err := s.Verifier()
	if err != nil {
		return nil, err
	}
	return page.NewFeed(p, page.FeedParts{Branch: b, Verify: verify, Interval: cmp.Or(o.Interval, 10*time.Second), Facts: facts, Log: s.Log}), nil
}

// WithoutUser returns source without a name, a password and a query, which may have a token. An address of SSH
// keeps the name, which is part of it.
func WithoutUser(source string) string {
	user, rest, _ := strings.Cut(source, "@")
	if name, _, both := strings.Cut(user, ":"); both && rest != "" && !strings.ContainsAny(user, `/\`) {
		return name + "@" + rest // user:password@host:path
	}
	u, err := url.Parse(source)
	if err != nil { // as where a password is not escaped
		if scheme, at, both := strings.Cut(source, "://"); both {
			return scheme + "://" + at[strings.LastIndex(at, "@")+1:]
		}
		return source
	}
	if u.User == nil && u.RawQuery == "" {
		return source
	}
	u.RawQuery = ""
	if u.User == nil {
		return u.String()
	}
	if u.Scheme == "ssh" {
		u.User = url.User(u.User.Username())
	} else {
		u.User = nil
	}
	return u.String()
}

// statusBranchName returns the name of the status branch: given, or the one in fleet.yaml.
func (s Settings) statusBranchName(ctx context.Context) (string, error) {
	if s.StatusBranch != "" {
		return s.StatusBranch, nil
	}
	if IsFolder(s.Source) && s.StatusRepository == "" {
		return fleet.DefaultStatusBranch, nil // a folder has one
	}
	source, err := s.OpenSource()
	if err != nil {
		return "", err
	}
	rev, err := source.Resolve(ctx)
	if err != nil {
		return "", err
	}
	tree, err := source.Fetch(ctx, rev)
	if err != nil {
		return "", err
	}
	renderer, err := s.NewRenderer(RenderOptions{})
	if err != nil {
		return "", err
	}
	config, err := renderer.Config(tree)
	return config.StatusBranch, err
}

// shown is the page of an agent's process. Before the fleet was read once it is not known
// where the status branch is, and there is nothing to show.
type shown struct {
	page atomic.Pointer[page.Page]
	feed atomic.Pointer[page.Feed]
}

// ServeHTTP implements http.Handler.
func (s *shown) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := s.page.Load(); p != nil {
		p.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "5")
	http.Error(w, "the fleet was not read yet", http.StatusServiceUnavailable)
}

// changed takes in a report.
func (s *shown) changed(c reports.Change) {
	if f := s.feed.Load(); f != nil {
		f.Changed(c)
	}
}

// written takes in that this process committed to the status branch.
func (s *shown) written() {
	if f := s.feed.Load(); f != nil {
		f.Written()
	}
}

// over says that this process does not work on the fleet any more.
func (s *shown) over() {
	if f := s.feed.Load(); f != nil {
		f.Over()
	}
}

// run shows what is new until ctx ends. A page that cannot be shown ends no agent.
func (s *shown) run(ctx context.Context, settings Settings, o Page, facts func() []page.Fact) error {
	settings.Log = settings.Log.With("for", "page")
	for failures := backoff.New(time.Second, time.Minute); ; {
		name, err := settings.statusBranchName(ctx)
		if err == nil {
			var p *page.Page
			var f *page.Feed
			if p, f, err = settings.NewPage(o, name, facts); err == nil {
				s.feed.Store(f)
				s.page.Store(p)
				return f.Run(ctx)
			}
		}
		wait := failures.Step()
		if ctx.Err() == nil {
			settings.Log.Warn("cannot find the status branch, retrying", "error", err, "after", wait)
		}
		if !backoff.Sleep(ctx, wait) {
			return nil
		}
	}
}

func (p *Process) openPage(ctx context.Context) error {
	o := p.o.Page
	if o.Address == "" {
		return nil
	}
	if _, err := forges.LinksOf(o.Forge, p.settings.Source); err != nil {
		return fmt.Errorf("--page-forge: %w", err)
	}
	p.replica.over = p.shown.over
	return p.listen(ctx, "serving a page of the fleet", "page-listen", o.Address, p.shown, nil)
}
