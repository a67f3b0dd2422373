package maastest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// URL is the address of every region without a server.
const URL = "http://maas.test:5240/MAAS"

// A User has an API key. PUT of machines and changes of DNS are for administrators.
type User struct {
	Name, Consumer, Token, Secret string
	Admin                         bool
}

// Key returns the API key as people copy it.
func (u *User) Key() string { return u.Consumer + ":" + u.Token + ":" + u.Secret }

// A Region is a MAAS with its hosts. Requests are carried out one after another, as allocations are under
// one lock of its database. It is safe for concurrent use.
type Region struct {
	mu        sync.Mutex
	users     []*User
	hosts     []*Host
	zones     []string
	pools     []string
	tags      []string
	images    []string
	domains   []string
	database  database
	nonces    map[string]bool
	next      int // number of the next thing
	calls     []Call
	watch     func(Call)
	faults    []*injected
	times     Times
	addresses int // that MAAS has for hosts; 0: enough
	hardware  func(Machine, Host)
}

// Times are how long things take.
type Times struct{ Deploy, PowerOff, Erase time.Duration }

// database is what MAAS loses with its database.
type database struct {
	machines []*Machine
	names    []*name
	events   []event
}

type event struct {
	ID          int    `json:"id"`
	Node        string `json:"node"`
	Hostname    string `json:"hostname"`
	Username    string `json:"username"`
	Level       string `json:"level"`
	Type        string `json:"type"`
	Created     string `json:"created"`
	Description string `json:"description"`
}

// NewRegion returns a region without users and machines.
func NewRegion() *Region {
	return &Region{
		zones: []string{"default"}, pools: []string{"default"}, images: []string{"ubuntu/jammy", "custom/u-2204-0-k-1341-0"}, domains: []string{"maas"},
		nonces: make(map[string]bool), times: Times{Deploy: 50 * time.Millisecond, PowerOff: 30 * time.Millisecond, Erase: 50 * time.Millisecond},
	}
}

// AddUser adds a user with a key.
func (r *Region) AddUser(name string, admin bool) *User {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := &User{Name: name, Consumer: name + "C", Token: name + "T", Secret: name + "S", Admin: admin}
	r.users = append(r.users, u)
	return u
}

// AddDomain adds a domain of DNS.
func (r *Region) AddDomain(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.domains = append(r.domains, name)
}

// AddImage adds a boot resource, such as custom/u-2204-0-k-1341-0.
func (r *Region) AddImage(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images = append(r.images, name)
}

// SetHardware has f called each time that a host is switched, or something is installed on it or erased. f must not
// call r.
func (r *Region) SetHardware(f func(Machine, Host)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hardware = f
}

// SetTimes changes how long things take from now on.
func (r *Region) SetTimes(t Times) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = t
}

// SetAddresses limits how many hosts have an address at one time.
func (r *Region) SetAddresses(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addresses = n
}

// failure is an answer that is an error: text/plain, or a JSON object of fields.
type failure struct {
	status int
	body   string
	header http.Header
}

func (f failure) Error() string { return f.body }

func conflict(format string, a ...any) failure {
	return failure{status: http.StatusConflict, body: fmt.Sprintf(format, a...)}
}

func invalid(field, format string, a ...any) failure {
	b, _ := json.Marshal(map[string][]string{field: {fmt.Sprintf(format, a...)}}) // texts can always be written
	return failure{status: http.StatusBadRequest, body: string(b)}
}

func missing(what string) failure {
	return failure{status: http.StatusNotFound, body: "No " + what + " matches the given query."}
}

func forbidden() failure { return failure{status: http.StatusForbidden} }

func admins() failure {
	return failure{status: http.StatusForbidden, body: "This method is reserved for admin users."}
}

var oauthField = regexp.MustCompile(`(\w+)="([^"]*)"`)

// user returns the user who sent q. The signature of PLAINTEXT is "&" and the secret. A nonce is used once.
func (r *Region) user(q *http.Request) (*User, error) {
	no := func(text string) error {
		return failure{status: http.StatusUnauthorized, body: "Authorization Error: " + text}
	}
	f := map[string]string{}
	for _, m := range oauthField.FindAllStringSubmatch(q.Header.Get("Authorization"), -1) {
		f[m[1]], _ = url.QueryUnescape(m[2])
	}
	at, err := strconv.ParseInt(f["oauth_timestamp"], 10, 64)
	if err != nil || f["oauth_signature_method"] != "PLAINTEXT" {
		return nil, no("missing parameters")
	}
	if d := time.Since(time.Unix(at, 0)); d > 300*time.Second || d < -300*time.Second {
		return nil, no("Expired timestamp")
	}
	nonce := f["oauth_token"] + f["oauth_timestamp"] + f["oauth_nonce"]
	if r.nonces[nonce] {
		return nil, no("Nonce already used")
	}
	r.nonces[nonce] = true
	for _, u := range r.users {
		if u.Consumer == f["oauth_consumer_key"] && u.Token == f["oauth_token"] {
			if "&"+u.Secret == f["oauth_signature"] {
				return u, nil
			}
			return nil, no("'Invalid signature. Expected signature base string: &" + u.Secret + "'") // as MAAS 3.4 says it
		}
	}
	return nil, no("Invalid API key.")
}

// RoundTrip implements http.RoundTripper.
func (r *Region) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := q.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	ended := r.serve(w, q)
	if q.Body != nil {
		_ = q.Body.Close()
	}
	if ended {
		return nil, errEnded
	}
	return w.Result(), nil
}

// ServeHTTP implements http.Handler.
func (r *Region) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if !r.serve(w, q) {
		return
	}
	if h, ok := w.(http.Hijacker); ok {
		if c, _, err := h.Hijack(); err == nil {
			_ = c.Close()
		}
	}
}

// serve answers q, or reports that the connection ended without an answer.
func (r *Region) serve(w http.ResponseWriter, q *http.Request) (ended bool) {
	c, err := callOf(q)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return false
	}
	if f := r.watching(); f != nil {
		f(c)
	}
	fault := r.faultOf(c)
	if fault.Do != nil {
		fault.Do(c)
	}
	switch {
	case fault.Cut:
		r.note(c)
		return true
	case fault.Status != 0 && !fault.After:
		c.Status = fault.Status
		r.note(c)
		write(w, failure{status: fault.Status, body: fault.Body, header: fault.Header})
		return false
	}
	out, err := r.answer(q, c)
	c.Status = http.StatusOK
	if f, ok := err.(failure); ok { //nolint:errorlint // answers are not wrapped
		c.Status = f.status
	}
	r.note(c)
	switch {
	case fault.Lose:
		return true
	case fault.Status != 0:
		write(w, failure{status: fault.Status, body: fault.Body, header: fault.Header})
	case err != nil:
		write(w, err)
	case out == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(out)
	}
	return false
}

func write(w http.ResponseWriter, err error) {
	f, _ := err.(failure) //nolint:errorlint // the same
	for k, v := range f.header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(f.status)
	_, _ = w.Write([]byte(f.body))
}

// answer carries out a request.
func (r *Region) answer(q *http.Request, c Call) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
	u, err := r.user(q)
	if err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(q.URL.Path, "/MAAS/api/2.0/")
	if !ok || !strings.HasSuffix(rest, "/") {
		return nil, failure{status: http.StatusNotFound, body: "Not Found"}
	}
	part, op := strings.Split(strings.TrimSuffix(rest, "/"), "/"), c.Query.Get("op")
	switch {
	case part[0] == "machines" && len(part) == 1:
		switch {
		case q.Method == http.MethodGet && op == "":
			return r.list(u, c.Query)
		case q.Method == http.MethodPost && op == "allocate":
			return r.allocate(u, c.Form)
		}
	case part[0] == "machines" && len(part) == 2:
		return r.machine(u, part[1], q.Method, op, c.Form)
	case part[0] == "users" && op == "whoami":
		return map[string]any{"username": u.Name, "is_superuser": u.Admin, "email": "", "is_local": true}, nil
	case part[0] == "events" && op == "query":
		return r.query(c.Query)
	case part[0] == "vm-hosts" || part[0] == "pods":
		return nil, failure{status: http.StatusGone, body: "VM host (KVM) support has been removed from MAAS."}
	case part[0] == "dnsresources" && len(part) <= 2:
		return r.dnsResources(u, part, q.Method, c)
	case part[0] == "dnsresourcerecords":
		return r.dnsRecords(u, part, q.Method, c.Form)
	case q.Method == http.MethodGet && len(part) == 1:
		if out := r.catalogue(part[0]); out != nil {
			return out, nil
		}
	}
	return nil, failure{status: http.StatusBadRequest, body: "Unrecognised signature: method=" + q.Method + " op=" + op}
}

// catalogue returns a list that changes seldom.
func (r *Region) catalogue(of string) any {
	named := func(names []string) any {
		out := []any{}
		for i, n := range names {
			out = append(out, map[string]any{"id": i + 1, "name": n, "description": "", "resource_uri": "/MAAS/api/2.0/" + of + "/" + n + "/"})
		}
		return out
	}
	switch of {
	case "zones":
		return named(r.zones)
	case "resourcepools":
		return named(r.pools)
	case "tags":
		return named(r.tags)
	case "domains":
		return named(r.domains)
	case "boot-resources":
		out := []any{}
		for i, name := range r.images {
			out = append(out, map[string]any{"id": i + 1, "name": name, "type": "Uploaded", "architecture": "amd64/generic"})
		}
		return out
	case "subnets":
		return []any{map[string]any{"id": 9, "name": "10.0.0.0/16", "cidr": "10.0.0.0/16", "gateway_ip": "10.0.0.1", "managed": true}}
	case "ipranges":
		return []any{map[string]any{"id": 1, "type": "reserved", "start_ip": "10.0.200.0", "end_ip": "10.0.200.255"}}
	}
	return nil
}

// query returns the events after one, newest first: at most so many of the oldest.
func (r *Region) query(f url.Values) (any, error) {
	limit, after := 100, -1
	if s := f.Get("limit"); s != "" {
		limit, _ = strconv.Atoi(s)
	}
	if s := f.Get("after"); s != "" {
		after, _ = strconv.Atoi(s)
	}
	if limit > 1000 {
		return nil, failure{status: http.StatusBadRequest, body: fmt.Sprintf("Requested number of events %d is greater than limit: 1000", limit)}
	}
	found := slices.DeleteFunc(slices.Clone(r.database.events), func(e event) bool {
		return e.ID <= after || f.Has("id") && !slices.Contains(f["id"], e.Node) || e.Level == "DEBUG" && f.Get("level") != "DEBUG"
	})
	if after < 0 && len(found) > limit {
		found = found[len(found)-limit:]
	}
	found = found[:min(limit, len(found))]
	slices.Reverse(found)
	return map[string]any{"count": len(found), "events": found, "next_uri": "", "prev_uri": ""}, nil
}

// tell notes an event. The lock is held.
func (r *Region) tell(m *Machine, user, level, kind, text string) {
	r.next++
	r.database.events = append(r.database.events, event{
		ID: r.next, Node: m.SystemID, Hostname: m.Hostname, Username: user, Level: level, Type: kind,
		Created: time.Now().UTC().Format("Mon, 02 Jan. 2006 15:04:05"), Description: text,
	})
}
