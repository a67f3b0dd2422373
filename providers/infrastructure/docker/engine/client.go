package engine

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"go.opentelemetry.io/otel/trace/noop"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// DefaultHost is the daemon that is used unless DOCKER_HOST or a context of Docker names another.
const DefaultHost = "unix:///var/run/docker.sock"

const timeout = time.Minute

// Options say how to ask. Zero values mean the defaults.
type Options struct {
	Host string               // "unix:///var/run/docker.sock", "tcp://127.0.0.1:2375"; default: that of DOCKER_HOST or of a context of Docker, then DefaultHost
	Sent func(transport.Call) // is called after each request
	Base http.RoundTripper    // default: connections of its own to Host
}

// A Client sends requests to one daemon, with the newest version of the API that both know. It is safe for concurrent
// use.
type Client struct {
	Host      string
	moby      *client.Client
	transport recorder
	creating  chan struct{} // has an element while a network is created
}

// New returns a client, and makes no request.
func New(o Options) (*Client, error) {
	const op = "use the Docker daemon"
	var err error
	if o.Host == "" {
		if o.Host, err = chosen(); err != nil {
			return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
		}
	}
	u := parse(o.Host)
	if u == nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "invalid host %q: must be like unix:///var/run/docker.sock or tcp://127.0.0.1:2375", o.Host)
	}
	if o.Base == nil {
		base := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own
		var d net.Dialer
		base.Proxy = nil
		base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, u.Scheme, u.Host) }
		o.Base = base
	}
	c := &Client{Host: o.Host, transport: recorder{transport.New(transport.Options{Base: o.Base, Sent: o.Sent})}, creating: make(chan struct{}, 1)}
	c.moby, err = client.New(
		client.WithHost(o.Host), // before the transport, which it would change
		client.WithHTTPClient(&http.Client{Transport: c.transport, CheckRedirect: client.CheckRedirect}),
		client.WithTraceProvider(noop.NewTracerProvider()), // package transport reports requests
	)
	return c, err
}

// parse returns nil if host is none that a Client reaches.
func parse(host string) *url.URL {
	u, err := client.ParseHostURL(host)
	if err != nil || u.Scheme != "unix" && u.Scheme != "tcp" {
		return nil
	}
	return u
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// A Container is one of a listing.
type Container struct{ container.Summary }

// Name returns the name of the container.
func (c *Container) Name() string {
	if len(c.Names) == 0 {
		return c.ID
	}
	return strings.TrimPrefix(c.Names[0], "/")
}

// Addresses returns those of the container in its networks, sorted.
func (c *Container) Addresses() (out []string) {
	if c.NetworkSettings == nil {
		return nil
	}
	for _, n := range c.NetworkSettings.Networks {
		if n != nil && n.IPAddress.IsValid() {
			out = append(out, n.IPAddress.String())
		}
	}
	slices.Sort(out)
	return out
}

// Containers lists the containers with a label, running or not.
func (c *Client) Containers(ctx context.Context, label string) ([]Container, error) {
	return c.list(ctx, "label", label)
}

// Container returns the container with that id; false: there is none.
func (c *Client) Container(ctx context.Context, id string) (Container, bool, error) {
	out, err := c.list(ctx, "id", id)
	if err != nil || len(out) != 1 || out[0].ID != id {
		return Container{}, false, err
	}
	return out[0], true, nil
}

func (c *Client) list(ctx context.Context, filter, value string) (out []Container, err error) {
	got, err := ask(ctx, c.moby.ContainerList, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add(filter, value)})
	for _, x := range got.Items {
		out = append(out, Container{x})
	}
	return out, err
}

// Create creates a container and returns its id.
func (c *Client) Create(ctx context.Context, name string, config *container.Config, host *container.HostConfig) (string, error) {
	got, err := ask(ctx, c.moby.ContainerCreate, client.ContainerCreateOptions{Name: name, Config: config, HostConfig: host})
	return got.ID, err
}

// Start starts a container; one that runs stays unchanged.
func (c *Client) Start(ctx context.Context, id string) error {
	return do(ctx, c.moby.ContainerStart, id, client.ContainerStartOptions{})
}

// Kill sends signal to a container.
func (c *Client) Kill(ctx context.Context, id, signal string) error {
	return do(ctx, c.moby.ContainerKill, id, client.ContainerKillOptions{Signal: signal})
}

// Remove kills and removes a container with its anonymous volumes. One that is not there is removed.
func (c *Client) Remove(ctx context.Context, id string) error {
	return unlessMissing(do(ctx, c.moby.ContainerRemove, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}))
}

// Events calls opened once the daemon answers, and then each for each change of a container with a label, until ctx
// ends or the daemon closes the connection.
func (c *Client) Events(ctx context.Context, label string, opened, each func()) error {
	got, err := send(ctx, &outcome{stream: true, rules: rules}, func(ctx context.Context) (client.EventsResult, error) {
		return c.moby.Events(ctx, client.EventsListOptions{Filters: make(client.Filters).Add("type", "container")}), nil
	})
	if err != nil {
		return err
	}
	opened()
	// The daemon is not asked for the label: podman 4 sends nothing then, unless the label has a value. To read a file of a
	// container is an event, too, so only these count. Names of podman are among them.
	changes := []events.Action{"create", "start", "restart", "die", "died", "destroy", "remove", "pause", "unpause", "rename", "update"}
	for {
		select {
		case e := <-got.Messages:
			if _, ok := e.Actor.Attributes[label]; ok && slices.Contains(changes, e.Action) {
				each()
			}
		case err := <-got.Err:
			return err
		}
	}
}

// HasImage reports whether the host has an image.
func (c *Client) HasImage(ctx context.Context, name string) (bool, error) {
	_, err := ask(ctx, func(ctx context.Context, name string) (client.ImageInspectResult, error) {
		return c.moby.ImageInspect(ctx, name)
	}, name)
	return err == nil, unlessMissing(err)
}

// Images returns the names of the host's images of a repository, with their tags.
func (c *Client) Images(ctx context.Context, repository string) (names []string, err error) {
	got, err := ask(ctx, c.moby.ImageList, client.ImageListOptions{Filters: make(client.Filters).Add("reference", repository)})
	for i := range got.Items {
		names = append(names, got.Items[i].RepoTags...)
	}
	return names, err
}

// EnsureNetwork creates a bridge network unless there is one of that name. Of one process, one call at a time does so:
// a Docker before version 25 creates two networks of one name.
func (c *Client) EnsureNetwork(ctx context.Context, name string) error {
	select {
	case c.creating <- struct{}{}:
		defer func() { <-c.creating }()
	case <-ctx.Done():
		return fleet.Errorf(fleet.Unavailable, "", "%w", ctx.Err())
	}
	err := do(ctx, c.moby.NetworkInspect, name, client.NetworkInspectOptions{})
	if !IsMissing(err) {
		return err
	}
	err = do(ctx, c.moby.NetworkCreate, name, client.NetworkCreateOptions{Driver: "bridge"})
	if fleet.KindOf(err) == fleet.Conflict { // another process was faster
		return nil
	}
	return err
}

// RemoveNetwork removes a network that no container is in. One that is not there is removed.
func (c *Client) RemoveNetwork(ctx context.Context, name string) error {
	return unlessMissing(do(ctx, c.moby.NetworkRemove, name, client.NetworkRemoveOptions{}))
}

// Info returns what the daemon says of its host.
func (c *Client) Info(ctx context.Context) (system.Info, error) {
	got, err := ask(ctx, c.moby.Info, client.InfoOptions{})
	return got.Info, err
}
