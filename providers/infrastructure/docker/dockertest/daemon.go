package dockertest

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// A Container is one of the daemon.
type Container struct {
	ID, Name, Image, State string
	Created                time.Time
	Labels                 map[string]string
	Address                string
	Files                  map[string]string // without the leading slash
	Steps                  string            // of the user data that was carried out
	Hups                   int               // how often it was told to read its configuration again
}

// A Call is a request that was made.
type Call struct{ Method, Path string }

// Changes reports whether the call changes something.
func (c Call) Changes() bool { return c.Method != http.MethodGet && c.Method != http.MethodHead }

// A Fault is how requests go wrong.
type Fault struct {
	Changes bool   // of requests that change something; otherwise of those that do not
	Path    string // that is in the path; empty: any but ping
	Skip    int    // how many requests go well before
	Times   int    // how many go wrong; 0: all
	Status  int    // the answer, and nothing is done
	Lose    bool   // the request is carried out, and its answer lost
	hits    int
}

// A Daemon is a Docker daemon. It is an http.RoundTripper, and safe for concurrent use.
type Daemon struct {
	mu         sync.Mutex
	containers map[string]*Container
	networks   map[string]bool
	oldest     string // version of the API
	newest     string
	cgroups    string // version of the host's control groups
	images     map[string]bool
	registry   map[string]Pull
	faults     []*Fault
	calls      []Call
	watch      func(Call)
	failBoot   string
	subnet     string // of the addresses of containers
	next       int
	listeners  map[chan string]bool // of events; false: it hears none
}

// New returns a daemon that has images.
func New(images ...string) *Daemon {
	d := &Daemon{containers: make(map[string]*Container), networks: make(map[string]bool), oldest: "1.24", newest: "1.41", cgroups: "2", images: make(map[string]bool), registry: make(map[string]Pull), subnet: "172.18", listeners: make(map[chan string]bool)}
	for _, i := range images {
		d.images[i] = true
	}
	return d
}

// Inject adds a fault; end removes it and says how often it hit.
func (d *Daemon) Inject(f Fault) (end func() int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, &f)
	return func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.faults = slices.DeleteFunc(d.faults, func(x *Fault) bool { return x == &f })
		return f.hits
	}
}

// Watch has f called before each request.
func (d *Daemon) Watch(f func(Call)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watch = f
}

// HasCgroups says which version of control groups the host has.
func (d *Daemon) HasCgroups(version string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cgroups = version
}

// Speaks says which versions of the API the daemon has. A new one has those of podman 4.
func (d *Daemon) Speaks(oldest, newest string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.oldest, d.newest = oldest, newest
}

// Calls returns all requests that were made.
func (d *Daemon) Calls() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// FailBoot makes the user data of the next containers end with output; empty: they go well.
func (d *Daemon) FailBoot(output string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failBoot = output
}

// Containers returns copies of all containers, by id.
func (d *Daemon) Containers() []Container {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Container
	for _, id := range slices.Sorted(maps.Keys(d.containers)) {
		c := *d.containers[id]
		c.Labels, c.Files = maps.Clone(c.Labels), maps.Clone(c.Files)
		out = append(out, c)
	}
	return out
}

// Subnet sets the first two bytes of the addresses of containers that are started from now on, "127.88".
func (d *Daemon) Subnet(prefix string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.subnet = prefix
}

// Networks returns the names of the networks that were made.
func (d *Daemon) Networks() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.networks))
}

// Change changes the container with that id, and reports whether there is one.
func (d *Daemon) Change(id string, change func(*Container)) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.containers[id]
	if c != nil {
		change(c)
		d.tell("update", c)
	}
	return c != nil
}

// Add adds a container of somebody else that runs.
func (d *Daemon) Add(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.add(name, "theirs", map[string]string{})
	d.start(c)
	return c.ID
}

// Restart is a restart of the daemon: containers end, and have other addresses when they are started.
func (d *Daemon) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.containers {
		c.State, c.Address = "exited", ""
		d.tell("die", c)
	}
	d.hangUp()
}

func (d *Daemon) add(name, image string, labels map[string]string) *Container {
	var b [32]byte
	_, _ = rand.Read(b[:])
	c := &Container{ID: hex.EncodeToString(b[:]), Name: name, Image: image, State: "created", Created: time.Now(), Labels: labels, Files: make(map[string]string)}
	d.containers[c.ID] = c
	d.tell("create", c)
	return c
}

// start starts a container: user data that is due is carried out, without being read.
func (d *Daemon) start(c *Container) {
	d.next++
	defer d.tell("start", c)
	c.State, c.Address = "running", fmt.Sprintf("%s.%d.%d", d.subnet, d.next/250, d.next%250+2)
	steps, due := c.Files["fairlead/steps.sh"]
	if !due {
		return
	}
	delete(c.Files, "fairlead/steps.sh")
	c.Steps = steps
	c.Files["fairlead/result"] = "success\n"
	if d.failBoot != "" {
		c.Files["fairlead/result"], c.Files["fairlead/output"] = "exit-code\n", d.failBoot
	}
}

// RoundTrip implements http.RoundTripper.
func (d *Daemon) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := q.Context().Err(); err != nil {
		return nil, err
	}
	version, call := "", Call{q.Method, q.URL.Path}
	if rest, ok := strings.CutPrefix(q.URL.Path, "/v"); ok {
		version, call.Path, _ = strings.Cut(rest, "/")
		call.Path = "/" + call.Path
	}
	d.mu.Lock()
	watch := d.watch
	d.mu.Unlock()
	if watch != nil {
		watch(call)
	}
	var body []byte
	if q.Body != nil {
		body, _ = io.ReadAll(q.Body)
		_ = q.Body.Close()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
	fault := d.fault(call)
	if call.Path == "/events" && fault == nil {
		return d.events(q.Context(), q.URL.Query()), nil
	}
	if call.Path == "/images/create" && fault == nil {
		return d.pull(q.Context(), q.URL.Query()), nil
	}
	w := httptest.NewRecorder()
	switch {
	case fault != nil && !fault.Lose:
		fail(w, fault.Status, "the daemon cannot")
	case call.Path == "/_ping":
		w.Header().Set("Api-Version", d.newest)
	case versions.GreaterThan(version, d.newest):
		fail(w, http.StatusBadRequest, "client version "+version+" is too new. Maximum supported API version is "+d.newest)
	case versions.LessThan(version, d.oldest):
		fail(w, http.StatusBadRequest, "client version "+version+" is too old. Minimum supported API version is "+d.oldest+", please upgrade your client to a newer version")
	default:
		d.answer(w, call, q.URL.Query(), body)
	}
	if fault != nil && fault.Lose {
		return nil, io.ErrUnexpectedEOF
	}
	return w.Result(), nil
}

func (d *Daemon) fault(c Call) *Fault {
	for _, f := range d.faults {
		if f.Changes != c.Changes() || !strings.Contains(c.Path, f.Path) || c.Path == "/_ping" && f.Path == "" {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times == 0 || f.hits < f.Times {
			f.hits++
			return f
		}
	}
	return nil
}

func fail(w *httptest.ResponseRecorder, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
}

// answer does what a request says. The caller holds mu.
func (d *Daemon) answer(w *httptest.ResponseRecorder, call Call, query url.Values, body []byte) {
	part := strings.Split(strings.Trim(call.Path, "/"), "/")
	switch {
	case call.Path == "/info":
		_ = json.NewEncoder(w).Encode(map[string]any{"ServerVersion": "28.0", "DockerRootDir": "/", "CgroupVersion": d.cgroups, "NCPU": 4, "MemTotal": 64 << 30})
	case call.Path == "/images/get":
		t := tar.NewWriter(w)
		for _, name := range query["names"] {
			_ = t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Typeflag: tar.TypeReg})
		}
		_ = t.Close()
	case call.Path == "/images/json":
		_ = json.NewEncoder(w).Encode([]map[string]any{{"RepoTags": slices.Sorted(maps.Keys(d.images))}})
	case part[0] == "images":
		if !d.images[strings.TrimSuffix(strings.TrimPrefix(call.Path, "/images/"), "/json")] {
			fail(w, http.StatusNotFound, "no such image")
			return
		}
		_, _ = w.WriteString("{}")
	case call.Path == "/networks/create":
		var n struct{ Name string }
		_ = json.Unmarshal(body, &n)
		d.networks[n.Name] = true
		w.WriteHeader(http.StatusCreated)
		_, _ = w.WriteString("{}")
	case part[0] == "networks" && !d.networks[part[1]]:
		fail(w, http.StatusNotFound, "no such network")
	case part[0] == "networks" && call.Changes():
		delete(d.networks, part[1])
		w.WriteHeader(http.StatusNoContent)
	case part[0] == "networks":
		_, _ = w.WriteString("{}")
	case call.Path == "/containers/json":
		d.list(w, query)
	case call.Path == "/containers/create":
		d.create(w, query.Get("name"), body)
	case len(part) >= 2 && d.containers[part[1]] == nil:
		fail(w, http.StatusNotFound, "No such container: "+part[1])
	case call.Method == http.MethodDelete:
		d.tell("destroy", d.containers[part[1]])
		delete(d.containers, part[1])
		w.WriteHeader(http.StatusNoContent)
	default:
		d.of(w, d.containers[part[1]], call.Method+" "+part[2], query, body)
	}
}

func (d *Daemon) list(w *httptest.ResponseRecorder, query url.Values) {
	var filters client.Filters
	_ = json.Unmarshal([]byte(query.Get("filters")), &filters)
	matches := func(filter string, is func(string) bool) bool {
		for value := range filters[filter] {
			if !is(value) {
				return false
			}
		}
		return true
	}
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(d.containers)) {
		c := d.containers[id]
		labelled := func(label string) bool {
			name, value, exact := strings.Cut(label, "=")
			has, ok := c.Labels[name]
			return ok && (!exact || has == value)
		}
		if !matches("label", labelled) || !matches("id", func(id string) bool { return strings.HasPrefix(c.ID, id) }) {
			continue
		}
		out = append(out, map[string]any{
			"Id": c.ID, "Names": []string{"/" + c.Name}, "Image": c.Image, "State": c.State, "Labels": c.Labels, "Created": c.Created.Unix(),
			"NetworkSettings": map[string]any{"Networks": map[string]any{"kind": map[string]string{"IPAddress": c.Address}}},
		})
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (d *Daemon) create(w *httptest.ResponseRecorder, name string, body []byte) {
	var spec struct {
		Image      string
		Labels     map[string]string
		HostConfig struct{ NetworkMode string }
	}
	if json.Unmarshal(body, &spec) != nil {
		fail(w, http.StatusBadRequest, "invalid JSON")
		return
	}
	for _, c := range d.containers {
		if c.Name == name {
			fail(w, http.StatusConflict, `Conflict. The container name "/`+name+`" is already in use by container "`+c.ID+`".`)
			return
		}
	}
	switch {
	case !d.images[spec.Image]:
		fail(w, http.StatusNotFound, "No such image: "+spec.Image)
	case !d.networks[spec.HostConfig.NetworkMode]:
		fail(w, http.StatusNotFound, "network "+spec.HostConfig.NetworkMode+" not found")
	default:
		c := d.add(name, spec.Image, spec.Labels)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]string{"Id": c.ID})
	}
}

// of does something to a container.
func (d *Daemon) of(w *httptest.ResponseRecorder, c *Container, what string, query url.Values, body []byte) {
	switch what {
	case "POST start":
		if c.State == "running" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		d.start(c)
		w.WriteHeader(http.StatusNoContent)
	case "POST kill":
		switch {
		case c.State != "running" && c.State != "paused":
			fail(w, http.StatusConflict, "container is not running")
		case query.Get("signal") == "HUP":
			c.Hups++
		default:
			c.State, c.Address = "exited", ""
			d.tell("die", c)
		}
	case "PUT archive":
		r := tar.NewReader(bytes.NewReader(body))
		for h, err := r.Next(); err == nil; h, err = r.Next() {
			content, _ := io.ReadAll(r)
			c.Files[strings.TrimPrefix(query.Get("path"), "/")+h.Name] = string(content)
		}
	case "GET archive":
		d.tell("archive-path", c)
		d.archive(w, c, strings.TrimPrefix(query.Get("path"), "/"))
	default:
		fail(w, http.StatusNotFound, "page not found")
	}
}

// archive sends the files at path.
func (d *Daemon) archive(w *httptest.ResponseRecorder, c *Container, path string) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	found := false
	for name, content := range c.Files {
		if (name == path || strings.HasPrefix(name, path+"/")) && !strings.HasSuffix(name, "/") {
			found = true
			_ = t.WriteHeader(&tar.Header{Name: name[strings.LastIndexByte(path, '/')+1:], Size: int64(len(content)), Mode: 0o600, Typeflag: tar.TypeReg})
			_, _ = t.Write([]byte(content))
		}
	}
	if !found {
		fail(w, http.StatusNotFound, "Could not find the file "+path)
		return
	}
	_ = t.Close()
	w.Header().Set("X-Docker-Container-Path-Stat", base64.StdEncoding.EncodeToString([]byte("{}")))
	_, _ = w.Write(b.Bytes())
}
