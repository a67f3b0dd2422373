// Package helm is Helm as the rest of Fairlead knows it: what is installed, what is
// known of it, and the installer. Package sdk implements it with Helm's SDK, and a program may be
// built without.
//
//	client, err := engine.Client(kubeconfig, log)
//	err = client.Apply(ctx, helm.Release{Namespace: "fairlead-system", Name: "fairlead", Chart: files})
package helm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// An Engine installs charts. It is safe for concurrent use.
type Engine interface {
	// Installer returns what installs charts into workload clusters, and knows of nothing
	// yet.
	Installer(o Options) Installer

	// Client returns a client of the cluster that a kubeconfig leads to. It connects with
	// the first call.
	Client(kubeconfig []byte, log *slog.Logger) (Client, error)
}

// A Finder is an Engine that says beforehand whether a chart is to be had.
type Finder interface {
	// Find fetches c as a. It installs nothing.
	Find(ctx context.Context, c fleet.Chart, a fleet.ChartAccess) error
}

// An Installer is providers.Charts until it is closed: that ends everything that runs, and
// waits for it.
type Installer interface {
	providers.Charts
	Close()
}

// Options are what an Installer works with. All may be zero.
type Options struct {
	// May is asked before each request: the right to act can end while Helm waits.
	May func(fleet.Key) error
	// Changed is called when a change of a release ended.
	Changed func(fleet.Key)
	// Ended is called with each change that ended: "Install" or "Uninstall", and the
	// kind of its error, if any.
	Ended    func(ctx context.Context, operation string, kind fleet.ErrorKind, took time.Duration)
	Parallel int // changes at once, default 8
	Log      *slog.Logger
}

// A Client works on the releases of one cluster.
type Client interface {
	// State returns what is known of a release.
	State(ctx context.Context, namespace, name string) (State, error)

	// Apply installs r, or upgrades what is there to it. It may be repeated, and
	// does not wait for pods. ErrRefused is in the error of a chart that cannot be
	// rendered with its values.
	Apply(ctx context.Context, r Release) error

	// Remove removes a release. Nothing there is success.
	Remove(ctx context.Context, namespace, name string) error
}

// ErrRefused is in the errors of which trying again cannot help.
var ErrRefused = errors.New("the chart refuses the values")

// A File is one file of a chart, by its path in the chart.
type File struct {
	Name string
	Data []byte
}

// A Release is what to install and where.
type Release struct {
	Namespace string // made where it is missing
	Name      string
	Chart     []File
	Values    map[string]any
	Labels    map[string]string // of the release, for people and for State
}

// Digest identifies the chart, the values and the labels of r.
func (r Release) Digest() (string, error) {
	b, err := json.Marshal(r) // maps in the order of their keys
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}

// A State is what is known of a release.
type State struct {
	Exists   bool
	Deployed bool   // the last change came to its end
	Digest   string // of the Release it was made from; empty where it was not made by Apply
	Labels   map[string]string
	Values   map[string]any // that were given at installation, by anyone
}
