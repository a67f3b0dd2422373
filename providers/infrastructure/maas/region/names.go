package region

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Name is a name of DNS that MAAS serves.
type Name struct {
	ID        int64 `json:"id"`
	FQDN      string
	Addresses []string // sorted
	Texts     []Text   // its TXT records
}

// A Text is a TXT record.
type Text struct {
	ID   int64
	Text string
}

// DNS returns the names that MAAS serves.
func (c *Client) DNS(ctx context.Context) ([]Name, error) {
	var all []struct {
		ID        int64  `json:"id"`
		FQDN      string `json:"fqdn"`
		Addresses []struct {
			IP string `json:"ip"`
		} `json:"ip_addresses"`
		Records []struct {
			ID   int64  `json:"id"`
			Type string `json:"rrtype"`
			Data string `json:"rrdata"`
		} `json:"resource_records"`
	}
	if err := c.get(ctx, "dnsresources/", nil, &all); err != nil {
		return nil, err
	}
	var out []Name
	for _, d := range all {
		n := Name{ID: d.ID, FQDN: d.FQDN}
		for _, a := range d.Addresses {
			if a.IP != "" {
				n.Addresses = append(n.Addresses, a.IP)
			}
		}
		slices.Sort(n.Addresses)
		for _, rec := range d.Records {
			if rec.Type == "TXT" {
				n.Texts = append(n.Texts, Text{rec.ID, strings.Trim(rec.Data, `"`)})
			}
		}
		out = append(out, n)
	}
	return out, nil
}

// AddText adds a TXT record to a name, which is made in the same transaction if it is not there.
func (c *Client) AddText(ctx context.Context, fqdn, text string) error {
	return c.change(ctx, http.MethodPost, "dnsresourcerecords/", "", url.Values{"fqdn": {fqdn}, "rrtype": {"TXT"}, "rrdata": {text}})
}

// RemoveText removes a TXT record.
func (c *Client) RemoveText(ctx context.Context, id int64) error {
	return c.change(ctx, http.MethodDelete, "dnsresourcerecords/"+strconv.FormatInt(id, 10)+"/", "", nil)
}

// Lead makes a name lead to addresses, and to no others.
func (c *Client) Lead(ctx context.Context, id int64, addresses []string) error {
	return c.change(ctx, http.MethodPut, "dnsresources/"+strconv.FormatInt(id, 10)+"/", "", url.Values{"ip_addresses": {strings.Join(addresses, " ")}})
}

// RemoveName removes a name with its records.
func (c *Client) RemoveName(ctx context.Context, id int64) error {
	return c.change(ctx, http.MethodDelete, "dnsresources/"+strconv.FormatInt(id, 10)+"/", "", nil)
}
