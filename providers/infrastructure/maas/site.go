package maas

import (
	"context"
	"sync/atomic"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/transport/logins"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// A site is a region of MAAS, as one account sees it.
type site struct {
	client   *region.Client
	endpoint string
	relist   time.Duration
	listings *snapshot.Cache[*listing]
	names    *snapshot.Cache[[]region.Name]
	changes  atomic.Int64 // of this process
	last     *listing     // of the cache, which makes one at a time
}

// A listing is all that an account has.
type listing struct {
	user     region.User
	zones    []string
	machines []region.Machine
	tags     map[string]map[string]string // of machines, by system id
	began    time.Time
	events   int64 // the newest event before it
	changes  int64
}

// siteOf returns the MAAS of c, that of the Secret of its namespace. It makes no request.
func (p *Provider) siteOf(ctx context.Context, c *fleet.Cluster) (*site, error) {
	k := fleet.Key{Namespace: c.Key.Namespace, Name: api.MAASSecret}
	data, err := p.secrets.Find(ctx, k, c.Infrastructure.Secrets)
	if err != nil {
		return nil, err
	}
	text := func(key string) string { return string(data[key].Reveal()) }
	credential, err := region.ReadCredential("Secret "+k.String(), text(api.EndpointKey), text(api.APIKeyKey), text(api.CAKey))
	if err != nil {
		return nil, err
	}
	return p.sites.Client(credential, credential.Endpoint, func(*logins.Gate) (*site, error) {
		client, err := region.New(credential, p.o.Region)
		if err != nil {
			return nil, err
		}
		s := &site{client: client, endpoint: credential.Endpoint, relist: p.o.Relist}
		s.listings = snapshot.NewCache(p.o.Tick, "list machines", s.list)
		s.names = snapshot.NewCache(p.o.Tick, "list names of DNS", client.DNS)
		return s, nil
	})
}

// Close closes the connections.
func (s *site) Close() { s.client.Close() }

// place returns the region as a place of clusters.
func (s *site) place() fleet.Place { return fleet.Place{ID: "MAAS " + s.endpoint} }

// changed records that something of o was changed, or may have been.
func (s *site) changed(o snapshot.Owner) {
	s.changes.Add(1)
	s.listings.Changed(o)
}

// named records that the name of a cluster was changed, or may have been.
func (s *site) named(o snapshot.Owner) { s.names.Changed(o.Shared()) }

// list lists the machines of the account. If nothing happened since the last listing, that is returned.
func (s *site) list(ctx context.Context) (*listing, error) {
	l := &listing{began: time.Now(), changes: s.changes.Load(), tags: make(map[string]map[string]string)}
	last := s.last
	if last != nil {
		l.user, l.events = last.user, last.events
	}
	var err error
	if l.events, err = s.client.Newest(ctx, l.events); err != nil {
		return nil, err
	}
	if last != nil && last.events == l.events && last.changes == l.changes && l.began.Sub(last.began) < s.relist {
		return last, nil
	}
	if l.user.Name == "" {
		if l.user, err = s.client.Me(ctx); err != nil {
			return nil, err
		}
	}
	if l.zones, err = s.client.Names(ctx, region.Zones); err != nil {
		return nil, err
	}
	if l.machines, err = s.client.Machines(ctx, region.Filter{Owner: l.user.Name}); err != nil {
		return nil, err
	}
	for i := range l.machines {
		m := &l.machines[i]
		if l.tags[m.SystemID], err = s.recognise(ctx, m); err != nil {
			return nil, err
		}
	}
	s.last = l
	return l, nil
}

// recognise returns the tags of a machine of the account; nil: it is none of Fairlead, or lost them. A claim
// whose annotation was not written is recognised by its event.
func (s *site) recognise(ctx context.Context, m *region.Machine) (map[string]string, error) {
	tags := tagsOf(m)
	if tags != nil || m.State != region.Allocated {
		return tags, nil
	}
	comment, err := s.client.CommentOf(ctx, m.SystemID)
	if err != nil {
		return nil, err
	}
	if tags = tagsIn(comment); tags[fleet.TagMachine] == "" {
		return nil, nil
	}
	return tags, nil
}
