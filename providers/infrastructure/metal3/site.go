package metal3

import (
	"context"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/transport/logins"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// A site is an Ironic, as one account sees it.
type site struct {
	client   *ironic.Client
	endpoint string
	listings *snapshot.Cache[*listing]
	// assigning is held while it is decided which addresses and index a machine gets.
	assigning sync.Mutex
}

// createdAt returns when n was enrolled. A listing does not tell it: Ironic refuses created_at among the
// fields that it is asked for.
func (s *site) createdAt(ctx context.Context, n *ironic.Node) (time.Time, error) {
	if !n.Created.IsZero() {
		return n.Created, nil
	}
	found, err := s.client.Node(ctx, n.UUID)
	return found.Created, err
}

// A listing is all that an Ironic has.
type listing struct {
	nodes []ironic.Node
	computers
	byName  map[string]*ironic.Node
	byID    map[string]*ironic.Node
	hosts   map[string][]*ironic.Node // nodes of BareMetalHosts, by namespace
	records map[string]record         // what Fairlead wrote into nodes, by UUID
	holders addresses.Holders         // of addresses of pools, by UUID
	indexes map[string]bool           // values of TagIndex that machines have
	unknown error                     // why it is not known what addresses a node has; nil: it is
}

// siteOf returns the Ironic of c: that of the Secret of its namespace. Nothing is asked.
func (p *Provider) siteOf(ctx context.Context, c *fleet.Cluster) (*site, fleet.SecretData, error) {
	k := fleet.Key{Namespace: c.Key.Namespace, Name: api.IronicSecret}
	data, err := p.secrets.Find(ctx, k, c.Infrastructure.Secrets)
	if err != nil {
		return nil, nil, err
	}
	plain := make(map[string][]byte, len(data))
	for name, v := range data {
		plain[name] = v.Reveal()
	}
	credential, err := ironic.ReadCredential("Secret "+k.String(), plain)
	if err != nil {
		return nil, nil, err
	}
	endpoint := strings.TrimSuffix(credential.Endpoint, "/v1/")
	s, err := p.sites.Client(credential, endpoint, func(*logins.Gate) (*site, error) {
		client, err := ironic.New(credential, p.o.Ironic)
		if err != nil {
			return nil, err
		}
		s := &site{client: client, endpoint: endpoint}
		s.listings = snapshot.NewCache(p.o.Tick, "list hosts", s.list)
		return s, nil
	})
	return s, data, err
}

// Close closes the connections to the Ironic.
func (s *site) Close() { s.client.Close() }

// list lists all nodes, once for all clusters.
func (s *site) list(ctx context.Context) (*listing, error) {
	nodes, err := s.client.List(ctx)
	if err != nil {
		return nil, err
	}
	l := &listing{
		nodes: nodes, computers: computersOf(nodes), byName: make(map[string]*ironic.Node, len(nodes)), byID: make(map[string]*ironic.Node, len(nodes)),
		hosts: make(map[string][]*ironic.Node), records: make(map[string]record), holders: make(addresses.Holders),
		indexes: make(map[string]bool),
	}
	for i := range nodes {
		n := &nodes[i]
		l.byName[n.Name], l.byID[n.UUID] = n, n
		if namespace, _, ok := machine.ParseNodeName(n.Name); ok {
			l.hosts[namespace] = append(l.hosts[namespace], n)
		}
		r := recordOf(n)
		if r.isZero() {
			continue
		}
		l.records[n.UUID] = r
		if !r.occupied(n) {
			continue
		}
		tags := r.ownerTags(n)
		if err := l.holders.Add(n.UUID, tags[addresses.Tag]); err != nil {
			l.unknown = wrap("read what addresses host "+n.Name+" has", err)
		}
		if index := tags[TagIndex]; index != "" {
			l.indexes[index] = true
		}
	}
	return l, nil
}

// place is the Ironic among the places of a cluster, by its address: see placeOf.
func (s *site) place() fleet.Place { return fleet.Place{ID: ironicPrefix + s.endpoint} }
