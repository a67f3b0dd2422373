// Package sdk installs charts into clusters as the program helm does: what it
// installs is listed, upgraded and removed with helm as well.
//
// It is the only importer of Helm's SDK. An installation that was cut off is
// taken up by the next one: Helm itself leaves its release pending, and refuses
// everything after.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
)

// digestLabel is on a release, where `helm list --selector` finds it.
const digestLabel = "fairlead.dev/digest"

// requestTimeout bounds what Helm waits for of hooks. It waits for nothing else:
// the caller looks for what it wants.
const requestTimeout = 2 * time.Minute

// SDK is helm.Engine by Helm's SDK. What installers of one SDK fetch they share.
type SDK struct{ cache ChartCache }

var (
	_ helm.Engine = (*SDK)(nil)
	_ helm.Finder = (*SDK)(nil)
)

// New returns an SDK.
func New() *SDK { return new(SDK) }

// Installer implements helm.Engine.
func (s *SDK) Installer(o helm.Options) helm.Installer { return NewCharts(o, &s.cache) }

// Find implements helm.Finder.
func (s *SDK) Find(ctx context.Context, c fleet.Chart, a fleet.ChartAccess) error {
	_, err := s.cache.Chart(ctx, c, a)
	return err
}

// Client implements helm.Engine.
func (s *SDK) Client(kubeconfig []byte, log *slog.Logger) (helm.Client, error) {
	return open(kubeconfig, log, nil)
}

// A Client is a helm.Client.
type Client struct {
	getter getter
	log    *slog.Logger
}

// open returns a client whose transport is wrapped by wrap, if that is not nil.
func open(kubeconfig []byte, log *slog.Logger, wrap func(http.RoundTripper) http.RoundTripper) (*Client, error) {
	g, err := newGetter(kubeconfig, wrap)
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig: %w", err)
	}
	return &Client{getter: g, log: log}, nil
}

func (c *Client) configuration(namespace string) (*action.Configuration, error) {
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(c.log.Handler()))
	if err := cfg.Init(c.getter.in(namespace), namespace, "secret"); err != nil {
		return nil, fmt.Errorf("cannot use helm: %w", err)
	}
	return cfg, nil
}

// last returns the newest revision of a release, or nil.
func last(cfg *action.Configuration, name string) (*releasev1.Release, error) {
	r, err := cfg.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read release %s: %w", name, err)
	}
	release, ok := r.(*releasev1.Release)
	if !ok {
		return nil, fmt.Errorf("cannot read release %s: it is a %T", name, r)
	}
	return release, nil
}

// State implements helm.Client.
func (c *Client) State(ctx context.Context, namespace, name string) (helm.State, error) {
	if err := ctx.Err(); err != nil {
		return helm.State{}, err
	}
	cfg, err := c.configuration(namespace)
	if err != nil {
		return helm.State{}, err
	}
	r, err := last(cfg, name)
	if err != nil || r == nil {
		return helm.State{}, err
	}
	return helm.State{Exists: true, Deployed: r.Info.Status == common.StatusDeployed, Digest: r.Labels[digestLabel], Labels: r.Labels, Values: r.Config}, nil
}

// Apply implements helm.Client.
func (c *Client) Apply(ctx context.Context, r helm.Release) error {
	op := fmt.Sprintf("install release %s/%s", r.Namespace, r.Name)
	digest, err := r.Digest()
	if err != nil {
		return fmt.Errorf("cannot %s: %w", op, err)
	}
	chart, err := load(r.Chart)
	if err != nil {
		return fmt.Errorf("cannot %s: %w: %w", op, helm.ErrRefused, err)
	}
	cfg, err := c.configuration(r.Namespace)
	if err != nil {
		return err
	}
	old, err := last(cfg, r.Name)
	if err != nil {
		return err
	}
	labels := map[string]string{digestLabel: digest}
	maps.Copy(labels, r.Labels)
	err = c.installOrUpgrade(ctx, cfg, old, change{
		ReleaseRef: fleet.ReleaseRef{Namespace: r.Namespace, Name: r.Name}, ReleaseOptions: fleet.ReleaseOptions{CreateNamespace: true, Timeout: requestTimeout},
		chart: chart, values: r.Values, labels: func(int) map[string]string { return labels },
	})
	if err != nil {
		return fmt.Errorf("cannot %s: %w", op, err)
	}
	return nil
}

// Remove implements helm.Client.
func (c *Client) Remove(ctx context.Context, namespace, name string) error {
	cfg, err := c.configuration(namespace)
	if err != nil {
		return err
	}
	if err := uninstall(ctx, cfg, name, fleet.ReleaseOptions{Timeout: requestTimeout}); err != nil {
		return fmt.Errorf("cannot remove release %s/%s: %w", namespace, name, err)
	}
	return nil
}

// refused returns err as what it is: no answer of an API server, and no lack of
// one, is a chart that does not fit its values.
func refused(err error) error {
	if err == nil || kindOf(err) != fleet.Invalid || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return err
	}
	return fmt.Errorf("%w: %w", helm.ErrRefused, err)
}

// kindOf returns the kind of an error of Helm.
func kindOf(err error) fleet.ErrorKind {
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return e.Kind
	}
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.EOF), errors.As(err, &network):
		return fleet.Unavailable
	case meta.IsNoMatchError(err): // another chart may bring the kind
		return fleet.Unavailable
	}
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden:
		return fleet.Unauthorized
	case metav1.StatusReasonNotFound:
		return fleet.NotFound
	case metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists:
		return fleet.Conflict
	case metav1.StatusReasonTooManyRequests, metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout,
		metav1.StatusReasonInternalError, metav1.StatusReasonServiceUnavailable:
		return fleet.Unavailable
	}
	return fleet.Invalid
}

func load(files []helm.File) (*chartv2.Chart, error) {
	list := make([]*archive.BufferedFile, len(files))
	for i, f := range files {
		list[i] = &archive.BufferedFile{Name: f.Name, Data: f.Data}
	}
	return loader.LoadFiles(list)
}
