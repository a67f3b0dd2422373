package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// DefaultHost is the daemon that is used unless DOCKER_HOST names another.
const DefaultHost = "unix:///var/run/docker.sock"

// version is the oldest version of the API that has everything; Docker 20.10 and podman 4 answer it.
const version = "/v1.41"

const timeout = time.Minute

// Options say how to ask. Zero values mean the defaults.
type Options struct {
	Host string               // "unix:///var/run/docker.sock", "tcp://127.0.0.1:2375"; default: DOCKER_HOST, then DefaultHost
	Sent func(transport.Call) // is called after each request
	Base http.RoundTripper    // default: connections of its own to Host
}

// A Client sends requests to one daemon. It is safe for concurrent use.
type Client struct {
	Host   string
	http   *http.Client
	stream *http.Client // without a time limit but that of the context
}

// New returns a client, and makes no request.
func New(o Options) (*Client, error) {
	if o.Host == "" {
		o.Host = os.Getenv("DOCKER_HOST")
	}
	if o.Host == "" {
		o.Host = DefaultHost
	}
	network, address, ok := strings.Cut(o.Host, "://")
	if !ok || network != "unix" && network != "tcp" || address == "" {
		return nil, fleet.Errorf(fleet.Invalid, "use the Docker daemon", "invalid host %q: must be like unix:///var/run/docker.sock or tcp://127.0.0.1:2375", o.Host)
	}
	if o.Base == nil {
		base := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own
		var d net.Dialer
		base.Proxy = nil
		base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, network, address) }
		o.Base = base
	}
	t := transport.New(transport.Options{Base: o.Base, Sent: o.Sent})
	return &Client{Host: o.Host, http: &http.Client{Transport: t, Timeout: timeout}, stream: &http.Client{Transport: t}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// longest is how much of an answer is read.
const longest = 64 << 20

// do sends a request with body, and decodes the answer into out unless it is nil.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, kind string, body []byte, out any) error {
	q, err := http.NewRequestWithContext(ctx, method, "http://docker"+version+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		q.Header.Set("Content-Type", kind)
	}
	res, err := c.http.Do(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, longest))
	switch {
	case err != nil:
		return err
	case res.StatusCode == http.StatusNotModified: // it is started or stopped already
		return nil
	case res.StatusCode/100 != 2:
		return refusal(method, res.StatusCode, text)
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = text
		return nil
	}
	if out != nil && json.Unmarshal(text, out) != nil {
		return errAnswer
	}
	return nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.do(ctx, http.MethodGet, path, query, "", nil, out)
}

// A Container is one of a listing.
type Container struct {
	ID       string `json:"Id"`
	Names    []string
	Image    string
	Created  int64
	Labels   map[string]string
	State    string // "created", "running", "paused", "exited", "dead", "removing", "restarting"
	Status   string
	Networks struct {
		Networks map[string]struct{ IPAddress string }
	} `json:"NetworkSettings"`
}

// Name returns the name of the container.
func (c *Container) Name() string {
	if len(c.Names) == 0 {
		return c.ID
	}
	return strings.TrimPrefix(c.Names[0], "/")
}

// Addresses returns those of the container in its networks.
func (c *Container) Addresses() (out []string) {
	for _, n := range c.Networks.Networks {
		if n.IPAddress != "" {
			out = append(out, n.IPAddress)
		}
	}
	return out
}

// Containers lists the containers with a label, running or not.
func (c *Client) Containers(ctx context.Context, label string) (out []Container, err error) {
	return out, c.get(ctx, "/containers/json", url.Values{"all": {"1"}, "filters": {filter("label", label)}}, &out)
}

// Container returns the container with that id; false: there is none.
func (c *Client) Container(ctx context.Context, id string) (Container, bool, error) {
	var out []Container
	err := c.get(ctx, "/containers/json", url.Values{"all": {"1"}, "filters": {filter("id", id)}}, &out)
	if err != nil || len(out) != 1 || out[0].ID != id {
		return Container{}, false, err
	}
	return out[0], true, nil
}

func filter(name, value string) string {
	b, _ := json.Marshal(map[string][]string{name: {value}}) // texts can always be written
	return string(b)
}

// A Spec is what a container is made from.
type Spec struct {
	Hostname     string `json:",omitempty"`
	Image        string
	Labels       map[string]string
	ExposedPorts map[string]struct{} `json:",omitempty"`
	Volumes      map[string]struct{} `json:",omitempty"`
	Env          []string            `json:",omitempty"`
	Tty          bool
	HostConfig   HostConfig
}

// HostConfig is what a container has of its host.
type HostConfig struct {
	Privileged   bool
	NetworkMode  string            `json:",omitempty"`
	Binds        []string          `json:",omitempty"`
	Tmpfs        map[string]string `json:",omitempty"`
	SecurityOpt  []string          `json:",omitempty"`
	PortBindings map[string][]Port `json:",omitempty"`
	CgroupnsMode string            `json:",omitempty"`
	Init         *bool             `json:",omitempty"`
	Ulimits      []map[string]any  `json:",omitempty"`
}

// Port is one of the host; an empty HostPort is chosen by the daemon.
type Port struct{ HostIP, HostPort string }

// Create creates a container and returns its id.
func (c *Client) Create(ctx context.Context, name string, s Spec) (string, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	var out struct {
		ID string `json:"Id"`
	}
	err = c.do(ctx, http.MethodPost, "/containers/create", url.Values{"name": {name}}, "application/json", body, &out)
	return out.ID, err
}

// Start starts a container; one that runs stays unchanged.
func (c *Client) Start(ctx context.Context, id string) error { return c.post(ctx, id, "start", nil) }

// Kill sends signal to a container.
func (c *Client) Kill(ctx context.Context, id, signal string) error {
	return c.post(ctx, id, "kill", url.Values{"signal": {signal}})
}

func (c *Client) post(ctx context.Context, id, what string, query url.Values) error {
	return c.do(ctx, http.MethodPost, "/containers/"+id+"/"+what, query, "", nil, nil)
}

// Remove kills and removes a container with its anonymous volumes. One that is not there is removed.
func (c *Client) Remove(ctx context.Context, id string) error {
	err := c.do(ctx, http.MethodDelete, "/containers/"+id, url.Values{"force": {"1"}, "v": {"1"}}, "", nil, nil)
	if IsMissing(err) {
		return nil
	}
	return err
}

// A File is one that is written into a container.
type File struct {
	Path    string // without the leading slash
	Mode    int64
	Content []byte
	Link    string // the target, of a symbolic link
}

// Write writes files into a container, which need not run.
func (c *Client) Write(ctx context.Context, id string, files []File) error {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.Path, Mode: f.Mode, Size: int64(len(f.Content)), Typeflag: tar.TypeReg}
		if f.Link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
		}
		if strings.HasSuffix(f.Path, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := errors.Join(w.WriteHeader(h), ignoreCount(w.Write(f.Content))); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.do(ctx, http.MethodPut, "/containers/"+id+"/archive", url.Values{"path": {"/"}}, "application/x-tar", b.Bytes(), nil)
}

func ignoreCount(_ int, err error) error { return err }

// Read returns the files at path of a container, by their base names. If path does not exist, the error is one
// for IsMissing.
func (c *Client) Read(ctx context.Context, id, path string) (map[string][]byte, error) {
	var raw []byte
	if err := c.get(ctx, "/containers/"+id+"/archive", url.Values{"path": {path}}, &raw); err != nil {
		return nil, err
	}
	out := make(map[string][]byte)
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, errAnswer
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, errAnswer
		}
		out[h.Name[strings.LastIndexByte(h.Name, '/')+1:]] = content
	}
}

// CopyImages copies images of the host into the folder path of a container, as the files of an archive that
// "docker save" writes. The folder has to be there.
func (c *Client) CopyImages(ctx context.Context, id, path string, images []string) error {
	from, err := c.open(ctx, http.MethodGet, "/images/get", url.Values{"names": images}, nil)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := c.open(ctx, http.MethodPut, "/containers/"+id+"/archive", url.Values{"path": {path}}, from)
	if err != nil {
		return err
	}
	return to.Close()
}

// open sends a request with an archive, or without a body, and returns the body of the answer.
func (c *Client) open(ctx context.Context, method, path string, query url.Values, body io.Reader) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, method, "http://docker"+version+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/x-tar")
	}
	res, err := c.stream.Do(q)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res.Body, nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, longest))
	if err != nil {
		return nil, err
	}
	return nil, refusal(method, res.StatusCode, text)
}

// Events calls opened once the daemon answers, and then each for each change of a container with a label, until ctx
// ends or the daemon closes the connection.
func (c *Client) Events(ctx context.Context, label string, opened, each func()) error {
	filters, _ := json.Marshal(map[string][]string{"type": {"container"}, "label": {label}}) // texts can always be written
	body, err := c.open(ctx, http.MethodGet, "/events", url.Values{"filters": {string(filters)}}, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	opened()
	// To read a file of a container is an event, too, so only these count. Names of podman are among them.
	changes := []string{"create", "start", "restart", "die", "died", "destroy", "remove", "pause", "unpause", "rename", "update"}
	for d := json.NewDecoder(body); ; {
		var e struct{ Action string }
		if err := d.Decode(&e); err != nil {
			return err
		}
		if slices.Contains(changes, e.Action) {
			each()
		}
	}
}

// HasImage reports whether the host has an image.
func (c *Client) HasImage(ctx context.Context, name string) (bool, error) {
	err := c.get(ctx, "/images/"+(&url.URL{Path: name}).EscapedPath()+"/json", nil, nil)
	if IsMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// EnsureNetwork creates a bridge network unless there is one of that name.
func (c *Client) EnsureNetwork(ctx context.Context, name string) error {
	err := c.get(ctx, "/networks/"+url.PathEscape(name), nil, nil)
	if !IsMissing(err) {
		return err
	}
	body, _ := json.Marshal(map[string]any{"Name": name, "Driver": "bridge", "CheckDuplicate": true}) // texts can always be written
	err = c.do(ctx, http.MethodPost, "/networks/create", nil, "application/json", body, nil)
	if kindOf(err) == fleet.Conflict { // another process was faster
		return nil
	}
	return err
}

// RemoveNetwork removes a network that no container is in. One that is not there is removed.
func (c *Client) RemoveNetwork(ctx context.Context, name string) error {
	err := c.do(ctx, http.MethodDelete, "/networks/"+url.PathEscape(name), nil, "", nil, nil)
	if IsMissing(err) {
		return nil
	}
	return err
}

// Images returns the names of the host's images of a repository, with their tags.
func (c *Client) Images(ctx context.Context, repository string) (names []string, err error) {
	var all []struct{ RepoTags []string }
	err = c.get(ctx, "/images/json", url.Values{"filters": {filter("reference", repository)}}, &all)
	for _, i := range all {
		names = append(names, i.RepoTags...)
	}
	return names, err
}

// Info is what a daemon says of its host.
type Info struct {
	ServerVersion string
	DockerRootDir string
	CgroupVersion string
	NCPU          int
	MemTotal      int64
}

// Info returns it.
func (c *Client) Info(ctx context.Context) (out Info, err error) {
	return out, c.get(ctx, "/info", nil, &out)
}

// String returns the daemon's version, for people.
func (i Info) String() string {
	return "version " + i.ServerVersion + ", cgroups v" + i.CgroupVersion + ", " + strconv.Itoa(i.NCPU) + " CPUs"
}
