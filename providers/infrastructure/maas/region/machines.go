package region

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"fairlead.dev/fleet"
)

// A State is where a machine is in its life.
type State int

// The states that have a meaning here.
// Source: MAAS, maascommon/enums/node.py, NodeStatus.
const (
	Ready            State = 4
	Deployed         State = 6
	Broken           State = 8
	Deploying        State = 9
	Allocated        State = 10
	FailedDeployment State = 11
	Releasing        State = 12
	FailedReleasing  State = 13
	Erasing          State = 14
	FailedErasing    State = 15
)

// The states of power.
const (
	On  = "on"
	Off = "off"
)

// A Machine is the part of a machine of MAAS that is used.
type Machine struct {
	SystemID    string            `json:"system_id"`
	Hostname    string            `json:"hostname"`
	Owner       string            `json:"owner"` // the name of a user; empty: none
	Annotations map[string]string `json:"workload_annotations"`
	State       State             `json:"status"`
	StateName   string            `json:"status_name"`
	Error       string            `json:"error_description"`
	Power       string            `json:"power_state"`
	PowerType   string            `json:"power_type"`
	OSystem     string            `json:"osystem"`
	CPUs        float64           `json:"cpu_count"`
	Memory      float64           `json:"memory"` // MiB
	Locked      bool              `json:"locked"`
	Addresses   []string          `json:"ip_addresses"`
	Tags        []string          `json:"tag_names"`
	Zone        Named             `json:"zone"`
	Pool        Named             `json:"pool"`
	BootDisk    *Disk             `json:"boot_disk"`
}

// A Named is a thing with a name.
type Named struct {
	Name string `json:"name"`
}

// A Disk has a size in bytes.
type Disk struct {
	Size float64 `json:"size"`
}

// A Filter selects machines. Empty fields select all.
type Filter struct {
	Owner, Agent, Zone, Pool string
	IDs                      []string
	Free                     bool // those that are Ready
}

func (f Filter) query() url.Values {
	out := url.Values{}
	set := func(key, value string) {
		if value != "" {
			out.Set(key, value)
		}
	}
	set("owner", f.Owner)
	set("agent_name", f.Agent)
	set("zone", f.Zone)
	set("pool", f.Pool)
	if f.Free {
		set("status", "ready")
	}
	for _, id := range f.IDs {
		out.Add("id", id)
	}
	return out
}

// Machines lists machines. The answer is decoded as it arrives: MAAS sends 17 kB of each. A part of a list is
// an error.
func (c *Client) Machines(ctx context.Context, f Filter) ([]Machine, error) {
	body, err := c.send(ctx, http.MethodGet, "machines/", f.query(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	d := json.NewDecoder(body)
	if t, err := d.Token(); err != nil {
		return nil, notMAAS(err)
	} else if t != json.Delim('[') {
		return nil, errNotMAAS
	}
	var out []Machine
	for d.More() {
		var m Machine
		if err := d.Decode(&m); err != nil {
			return nil, notMAAS(err)
		}
		out = append(out, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return out, nil
}

// notMAAS returns err of an answer that cannot be read: it broke off, or something else than MAAS sent it.
func notMAAS(err error) error {
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return errNotMAAS
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return errNotMAAS
	}
	return err
}

func pathOf(id string) string { return "machines/" + url.PathEscape(id) + "/" }

// Machine returns the machine with a system id.
func (c *Client) Machine(ctx context.Context, id string) (Machine, error) {
	var m Machine
	err := c.get(ctx, pathOf(id), nil, &m)
	return m, err
}

// Constraints are what a machine is to have.
type Constraints struct {
	Zone, Pool string
	Tags       []string
	CPUs       int64
	Memory     int64 // MiB
	Disk       int64 // GB, of the boot disk
}

func (c Constraints) form() url.Values {
	out := url.Values{}
	if c.Zone != "" {
		out.Set("zone", c.Zone)
	}
	if c.Pool != "" {
		out.Set("pool", c.Pool)
	}
	for _, t := range c.Tags {
		out.Add("tags", t)
	}
	for key, n := range map[string]int64{"cpu_count": c.CPUs, "mem": c.Memory} {
		if n > 0 {
			out.Set(key, strconv.FormatInt(n, 10))
		}
	}
	if c.Disk > 0 {
		out.Set("storage", "root:"+strconv.FormatInt(c.Disk, 10))
	}
	return out
}

// Allocate acquires the machine id, if it is free and has what it is to have. The agent name filters
// listings until the release begins. The comment stays in an event.
func (c *Client) Allocate(ctx context.Context, id, agent, comment string, constraints Constraints) error {
	f := constraints.form()
	f.Set("system_id", id)
	f.Set("agent_name", agent)
	f.Set("comment", comment)
	return c.change(ctx, http.MethodPost, "machines/", "allocate", f)
}

// Annotate sets annotations of a machine of ours; an empty value removes one. A key has letters, digits,
// '_', '.' and '-'.
func (c *Client) Annotate(ctx context.Context, id string, annotations map[string]string) error {
	f := url.Values{}
	for k, v := range annotations {
		f.Set(k, v)
	}
	return c.change(ctx, http.MethodPost, pathOf(id), "set_workload_annotations", f)
}

// Deploy installs an image on a machine of ours, which boots with the user data, in memory or from its disk.
func (c *Client) Deploy(ctx context.Context, id, image string, userData []byte, inMemory bool) error {
	f := url.Values{"distro_series": {image}, "user_data": {base64.StdEncoding.EncodeToString(userData)}}
	if inMemory {
		f.Set("ephemeral_deploy", "true")
	}
	return c.change(ctx, http.MethodPost, pathOf(id), "deploy", f)
}

// An Erasure says how disks are erased.
type Erasure struct{ Erase, Quick, Secure bool }

// Release gives a machine back.
func (c *Client) Release(ctx context.Context, id string, e Erasure) error {
	f := url.Values{"comment": {"fairlead"}}
	for key, on := range map[string]bool{"erase": e.Erase, "quick_erase": e.Quick, "secure_erase": e.Secure} {
		if on {
			f.Set(key, "true")
		}
	}
	return c.change(ctx, http.MethodPost, pathOf(id), "release", f)
}

// PowerState asks the BMC of a machine.
func (c *Client) PowerState(ctx context.Context, id string) (string, error) {
	var out struct {
		State string `json:"state"`
	}
	err := c.get(ctx, pathOf(id), url.Values{"op": {"query_power_state"}}, &out)
	return out.State, err
}

// PowerOn starts a machine. One that is on is restarted.
func (c *Client) PowerOn(ctx context.Context, id string) error {
	return c.change(ctx, http.MethodPost, pathOf(id), "power_on", url.Values{"comment": {"fairlead"}})
}

// PowerOff switches a machine off without shutting it down.
func (c *Client) PowerOff(ctx context.Context, id string) error {
	return c.change(ctx, http.MethodPost, pathOf(id), "power_off", url.Values{"stop_mode": {"hard"}, "comment": {"fairlead"}})
}

// acquisition is the type of the event of an allocation.
const acquisition = "User acquiring node"

// CommentOf returns the comment with which a machine was acquired last, with words of MAAS before it; empty:
// MAAS has no such event any more.
func (c *Client) CommentOf(ctx context.Context, id string) (string, error) {
	all, err := c.events(ctx, url.Values{"id": {id}, "level": {"DEBUG"}, "limit": {"1000"}})
	if err != nil {
		return "", err
	}
	for _, e := range all {
		if e.Type == acquisition {
			return e.Description, nil
		}
	}
	return "", nil
}

// Newest returns the id of the newest event after one, or that one: nothing happened.
func (c *Client) Newest(ctx context.Context, after int64) (int64, error) {
	q := url.Values{"level": {"DEBUG"}, "limit": {"1000"}, "after": {strconv.FormatInt(after, 10)}}
	if after == 0 {
		q = url.Values{"level": {"DEBUG"}, "limit": {"1"}}
	}
	all, err := c.events(ctx, q)
	for _, e := range all {
		after = max(after, e.ID)
	}
	return after, err
}

type event struct {
	ID          int64  `json:"id"`
	Type        string `json:"type"`
	Description string `json:"description"`
}

// events returns events, the newest first.
func (c *Client) events(ctx context.Context, q url.Values) ([]event, error) {
	var out struct {
		Events []event `json:"events"`
	}
	q.Set("op", "query")
	if err := c.get(ctx, "events/", q, &out); err != nil {
		return nil, err
	}
	slices.SortFunc(out.Events, func(a, b event) int { return int(b.ID - a.ID) })
	return out.Events, nil
}

// A User is who a credential belongs to.
type User struct {
	Name  string `json:"username"`
	Admin bool   `json:"is_superuser"`
}

// Me returns the user of the client.
func (c *Client) Me(ctx context.Context) (User, error) {
	var out User
	err := c.get(ctx, "users/", url.Values{"op": {"whoami"}}, &out)
	if err == nil && out.Name == "" {
		return out, fleet.Errorf(fleet.Unauthorized, "find the user of MAAS_API_KEY", "MAAS does not name one")
	}
	return out, err
}

// The lists of names that a region has.
const (
	Zones   = "zones"
	Pools   = "resourcepools"
	Tags    = "tags"
	Domains = "domains"
	Images  = "boot-resources"
)

// Names returns the names of one of those lists, sorted.
func (c *Client) Names(ctx context.Context, list string) ([]string, error) {
	var all []Named
	if err := c.get(ctx, list+"/", nil, &all); err != nil {
		return nil, err
	}
	var out []string
	for _, n := range all {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
