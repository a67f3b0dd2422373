package maastest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A name is a label in a domain. MAAS keeps rows of addresses, not addresses: a row that was the address of a
// host is empty when the host loses it, and has the next one that the host gets.
type name struct {
	id      int
	label   string
	domain  string
	ips     []string
	follows []string // system ids of machines whose rows it has
	records []record
}

type record struct {
	ID   int    `json:"id"`
	FQDN string `json:"fqdn"`
	Type string `json:"rrtype"`
	Data string `json:"rrdata"`
}

func (n *name) fqdn() string { return n.label + "." + n.domain }

// addressesOf returns what a name leads to.
func (r *Region) addressesOf(n *name) []string {
	out := slices.Clone(n.ips)
	for _, id := range n.follows {
		if m := r.find(id); m != nil && m.IP != "" {
			out = append(out, m.IP)
		}
	}
	return out
}

// Lookup returns what a name leads to, and its TXT records; false: there is no such name.
func (r *Region) Lookup(fqdn string) (addresses, texts []string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.database.names {
		if n.fqdn() == fqdn {
			for _, rec := range n.records {
				texts = append(texts, rec.Data)
			}
			return r.addressesOf(n), texts, true
		}
	}
	return nil, nil, false
}

// Names returns all names, sorted.
func (r *Region) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, n := range r.database.names {
		out = append(out, n.fqdn())
	}
	slices.Sort(out)
	return out
}

// AddName adds a name without records, as CAPMAAS does.
func (r *Region) AddName(fqdn string, addresses ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.label(url.Values{"fqdn": {fqdn}, "ip_addresses": {strings.Join(addresses, " ")}})
	return err
}

// Point lets people make a name lead to addresses.
func (r *Region) Point(fqdn string, addresses ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.database.names {
		if n.fqdn() == fqdn {
			r.point(n, url.Values{"ip_addresses": addresses})
		}
	}
}

func (r *Region) show(n *name) map[string]any {
	ips, records := []any{}, []any{}
	for _, ip := range r.addressesOf(n) {
		ips = append(ips, map[string]any{"ip": ip, "alloc_type": 4})
	}
	for _, rec := range n.records {
		records = append(records, rec)
	}
	return map[string]any{
		"id": n.id, "fqdn": n.fqdn(), "address_ttl": nil, "ip_addresses": ips, "resource_records": records,
		"resource_uri": fmt.Sprintf("/MAAS/api/2.0/dnsresources/%d/", n.id),
	}
}

func (r *Region) dnsResources(u *User, part []string, method string, c Call) (any, error) {
	if len(part) == 1 {
		switch {
		case method == http.MethodGet:
			out := []any{}
			for _, n := range r.database.names {
				if f := c.Query.Get("fqdn"); f == "" || f == n.fqdn() {
					out = append(out, r.show(n))
				}
			}
			return out, nil
		case !u.Admin:
			return nil, admins()
		}
		n, err := r.label(c.Form)
		if err != nil {
			return nil, err
		}
		return r.show(n), nil
	}
	id, _ := strconv.Atoi(part[1])
	i := slices.IndexFunc(r.database.names, func(n *name) bool { return n.id == id })
	switch {
	case i < 0:
		return nil, missing("DNSResource")
	case method == http.MethodGet:
		return r.show(r.database.names[i]), nil
	case !u.Admin:
		return nil, admins()
	case method == http.MethodDelete:
		r.database.names = slices.Delete(r.database.names, i, i+1)
		return nil, nil
	}
	r.point(r.database.names[i], c.Form)
	return r.show(r.database.names[i]), nil
}

// label makes a name, which a domain has once.
func (r *Region) label(f url.Values) (*name, error) {
	label, domain := f.Get("name"), f.Get("domain")
	if label == "" {
		label, domain, _ = strings.Cut(f.Get("fqdn"), ".")
	}
	if !slices.Contains(r.domains, domain) {
		return nil, invalid("domain", "Unable to find domain %s", domain)
	}
	if slices.ContainsFunc(r.database.names, func(n *name) bool { return n.label == label && n.domain == domain }) {
		return nil, invalid("__all__", "Labels must be unique within their zone.")
	}
	r.next++
	n := &name{id: r.next, label: label, domain: domain}
	r.database.names = append(r.database.names, n)
	r.point(n, f)
	return n, nil
}

func (r *Region) point(n *name, f url.Values) {
	if !f.Has("ip_addresses") {
		return
	}
	n.ips, n.follows = nil, nil
	for _, ip := range strings.Fields(strings.Join(f["ip_addresses"], " ")) {
		if i := slices.IndexFunc(r.database.machines, func(m *Machine) bool { return m.IP == ip }); i >= 0 {
			n.follows = append(n.follows, r.database.machines[i].SystemID)
			continue
		}
		n.ips = append(n.ips, ip)
	}
}

// dnsRecords adds a record to a name, which is made with it if it is not there, or removes one.
func (r *Region) dnsRecords(u *User, part []string, method string, f url.Values) (any, error) {
	switch {
	case !u.Admin:
		return nil, admins()
	case method == http.MethodDelete && len(part) == 2:
		for _, n := range r.database.names {
			was := len(n.records)
			n.records = slices.DeleteFunc(n.records, func(rec record) bool { return strconv.Itoa(rec.ID) == part[1] })
			if len(n.records) < was {
				return nil, nil
			}
		}
		return nil, missing("DNSData")
	case method != http.MethodPost:
		return nil, failure{status: http.StatusBadRequest, body: "Unrecognised signature: method=" + method}
	}
	label, domain, _ := strings.Cut(f.Get("fqdn"), ".")
	i := slices.IndexFunc(r.database.names, func(n *name) bool { return n.label == label && n.domain == domain })
	if i < 0 {
		if _, err := r.label(url.Values{"name": {label}, "domain": {domain}}); err != nil {
			return nil, err
		}
		i = len(r.database.names) - 1
	}
	r.next++
	rec := record{ID: r.next, FQDN: f.Get("fqdn"), Type: strings.ToUpper(f.Get("rrtype")), Data: f.Get("rrdata")}
	r.database.names[i].records = append(r.database.names[i].records, rec)
	return rec, nil
}
