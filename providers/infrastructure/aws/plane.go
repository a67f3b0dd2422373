package aws

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A ControlPlane is the providers.HostedControlPlane of EKS. The network of a cluster is a part of it: EKS needs the
// subnets first, and they go last.
type ControlPlane struct {
	provider func() (*Provider, error)
}

var (
	_ providers.HostedControlPlane = (*ControlPlane)(nil)
	_ providers.TokenSource        = (*ControlPlane)(nil)
)

// NewControlPlane returns a ControlPlane.
func NewControlPlane(o Options) *ControlPlane {
	p := New(o)
	return &ControlPlane{func() (*Provider, error) { return p, nil }}
}

// OpenControlPlane returns the ControlPlane of the provider that is open, or of one with the options o. What is wrong with
// them is an error of each call.
func OpenControlPlane(o providers.Options) *ControlPlane {
	return &ControlPlane{sync.OnceValues(func() (*Provider, error) {
		if o.Opened == nil {
			return fromOptions(o)
		}
		p, err := o.Opened(Name)
		if err != nil {
			return nil, err
		}
		own, ok := p.(*Provider)
		if !ok {
			return nil, fleet.Errorf(fleet.Invalid, "open the control planes of EKS", "provider %s is a %T", Name, p)
		}
		return own, nil
	})}
}

// Settle implements providers.HostedControlPlane.
func (k *ControlPlane) Settle() time.Duration {
	p, err := k.provider()
	if err != nil {
		return DefaultSettle
	}
	return p.Settle()
}

// Observe implements providers.HostedControlPlane.
func (k *ControlPlane) Observe(ctx context.Context, c *fleet.Cluster, _ providers.SecretReader) (providers.HostedObservation, error) {
	op := "look at the control plane of " + c.Key.String()
	var out providers.HostedObservation
	p, err := k.provider()
	if err != nil {
		return out, err
	}
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return out, cloud.WrapLook(op, err)
	}
	s := &out.State
	s.Exists, s.Message = m.is != nil || m.lost || m.exists(), m.message()
	network := m.networkOnly()
	switch {
	case c.Delete && m.is == nil:
		if !m.lost {
			s.Message = p.deletion(m.view)
		}
		return out, nil
	case m.is == nil && !m.foreign && len(network.Steps)+len(network.Waits)+len(network.Faults) > 0:
		s.Message = "its network is not complete: " + network.Message()
	}
	if m.is == nil {
		return out, nil
	}
	s.Version = "v" + m.is.Version + ".0"
	if !m.serves() {
		return out, nil
	}
	if !c.Delete { // what is to go is reached until its end, and not changed
		if s.Drift, err = m.drift(ctx, network); err != nil {
			return out, cloud.WrapLook(op, err)
		}
		for _, problems := range []string{m.accessProblems(), m.addonProblems(), m.fargateProblems(), overruledText(m.overruled)} {
			s.Message = strings.Trim(s.Message+"; "+problems, "; ")
		}
	}
	if s.Endpoint, out.Secrets, err = m.access(); err != nil {
		s.Message = err.Error()
		return out, nil
	}
	s.Ready = true
	return out, nil
}

// drift says what Ensure would change.
func (m *managed) drift(ctx context.Context, network *steps.Decision) ([]string, error) {
	changes, err := m.changes(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, err := range slices.Concat(network.Faults, changes.faults) {
		out = append(out, err.Error())
	}
	for _, step := range network.Steps {
		out = append(out, step.What)
	}
	for _, step := range changes.steps {
		out = append(out, step.what)
	}
	slices.Sort(out)
	return out, nil
}

// access returns where the API server answers, the kubeconfig for people and the certificate of its CA.
func (m *managed) access() (fleet.Endpoint, map[fleet.SecretName]fleet.SecretData, error) {
	op := "read what EKS says of cluster " + m.is.Name
	u, err := url.Parse(m.is.Endpoint)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return fleet.Endpoint{}, nil, fleet.Errorf(fleet.Unknown, op, "its endpoint %q is no URL", m.is.Endpoint)
	}
	ca, err := base64.StdEncoding.DecodeString(m.is.CA.Data)
	if err != nil {
		return fleet.Endpoint{}, nil, fleet.Errorf(fleet.Unknown, op, "the certificate of its CA cannot be read: %w", err)
	}
	e := fleet.Endpoint{Host: u.Hostname(), Port: 443}
	if port := u.Port(); port != "" {
		if err := json.Unmarshal([]byte(port), &e.Port); err != nil {
			return fleet.Endpoint{}, nil, fleet.Errorf(fleet.Unknown, op, "its endpoint %q has no port", m.is.Endpoint)
		}
	}
	config, err := json.Marshal(m.kubeconfig(ca))
	return e, map[fleet.SecretName]fleet.SecretData{
		fleet.Kubeconfig: {fleet.KubeconfigKey: fleet.NewSecret(config)},
		fleet.ClusterCA: {
			fleet.TLSCertKey: fleet.NewSecret(bytes.TrimSpace(ca)),
			// What else machines have to know.
			clusterNameKey: fleet.NewSecret([]byte(m.is.Name)), serviceRangeKey: fleet.NewSecret([]byte(cmp.Or(m.is.Services.Six, m.is.Services.Range))),
		},
	}, err
}

// kubeconfig returns one for people. It has no token: a program of theirs makes one with their own credentials.
// Source: EKS user guide, "Connect kubectl to an EKS cluster by creating a kubeconfig file".
func (m *managed) kubeconfig(ca []byte) any {
	run := map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1beta1", "interactiveMode": "IfAvailable", "command": "aws",
		"args": []string{"--region", m.want.Region, "eks", "get-token", "--cluster-name", m.is.Name, "--output", "json"},
	}
	if m.want.TokenMethod == api.TokenByAuthenticator {
		run["command"], run["args"] = "aws-iam-authenticator", []string{"token", "-i", m.is.Name}
		run["env"] = []any{map[string]string{"name": "AWS_REGION", "value": m.want.Region}}
	}
	name := m.c.Key.Name
	return map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []any{map[string]any{"name": name, "cluster": map[string]any{"server": m.is.Endpoint, "certificate-authority-data": ca}}},
		"users":    []any{map[string]any{"name": name, "user": map[string]any{"exec": run}}},
		"contexts": []any{map[string]any{"name": name, "context": map[string]string{"cluster": name, "user": name}}},
	}
}

// Token implements providers.TokenSource. It makes no request, but perhaps one for the credentials of a role.
func (k *ControlPlane) Token(ctx context.Context, c *fleet.Cluster, refused fleet.Secret) (providers.Token, error) {
	op := "make a token for the API server of " + c.Key.String()
	p, err := k.provider()
	if err != nil {
		return providers.Token{}, err
	}
	spec, err := api.ReadControlPlane(c)
	if err != nil {
		return providers.Token{}, err
	}
	shared, err := api.ReadShared(c)
	if err != nil {
		return providers.Token{}, err
	}
	place, err := p.accounts.Place(ctx, c, shared)
	if err != nil {
		return providers.Token{}, cloud.WrapLook(op, err)
	}
	name := spec.EKSClusterName
	if was, ok := p.names.Of(snapshot.OwnerOf(c)); ok { // EKS renames none
		name = was
	}
	const tries = 2
	now := time.Now()
	for range tries { // two of the same second are equal
		text, ends, err := place.Token(ctx, name, now)
		if err != nil {
			return providers.Token{}, cloud.WrapLook(op, err)
		}
		if text != string(refused.Reveal()) {
			return providers.Token{Value: fleet.NewSecret([]byte(text)), NotAfter: ends}, nil
		}
		now = now.Add(-time.Second)
	}
	return providers.Token{}, fleet.Errorf(fleet.Unauthorized, op, "the API server refuses it")
}

// Ensure implements providers.HostedControlPlane: first the network, then the cluster, then one change of it at a time.
func (k *ControlPlane) Ensure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	what := "create or change the control plane of " + c.Key.String()
	p, err := k.provider()
	if err != nil {
		return err
	}
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return cloud.WrapLook(what, err)
	}
	if m.is == nil && m.foreign {
		return fleet.Errorf(fleet.Conflict, what, "%s", m.notOurs())
	}
	errs := m.perform(ctx, m.networkOnly)
	d := m.networkOnly()
	errs = append(errs, d.Faults...)
	if m.is == nil {
		if len(errs) == 0 && len(d.Steps)+len(d.Waits) == 0 {
			errs = append(errs, m.create(ctx))
		}
		return cloud.Wrap(what, fleet.JoinErrors(errs...))
	}
	if !m.serves() {
		if m.is.Status == cloud.Failed {
			errs = append(errs, fleet.Errorf(fleet.Invalid, what, "%s", m.message()))
		}
		return cloud.Wrap(what, fleet.JoinErrors(errs...))
	}
	changes, err := m.changes(ctx)
	if err != nil {
		return cloud.WrapLook(what, err)
	}
	errs = append(errs, changes.faults...)
	errs = append(errs, changes.perform(ctx, m.is.Status == cloud.Active)...)
	return cloud.Wrap(what, fleet.JoinErrors(errs...))
}

// create asks for the cluster.
func (m *managed) create(ctx context.Context) error {
	role, err := m.place.RoleARN(ctx, m.want.RolePath, m.want.RoleName)
	if err != nil {
		return err
	}
	e := m.want.EndpointAccess
	in := cloud.NewCluster{
		Name: m.want.EKSClusterName, Role: role, Version: m.want.Version, Tags: m.tags(),
		VPC:    cloud.VPCConfig{Subnets: m.controlPlaneSubnets(), Public: e.Public, Private: e.Private, PublicCIDRs: m.publicRanges(m.wantsSix())},
		Access: cloud.AccessConfig{Mode: strings.ToUpper(m.want.AccessConfig.AuthenticationMode), CreatorAdmin: m.want.AccessConfig.BootstrapClusterCreatorAdminPermissions},
		Addons: m.want.BootstrapSelfManagedAddons,
	}
	if logs := m.logs(); len(logs) > 0 {
		in.Logging = &cloud.Logging{Setups: []cloud.LogSetup{{Types: logs, Enabled: true}}}
	}
	services, err := m.services()
	if err != nil {
		return err
	}
	switch {
	case m.wantsSix():
		in.Services = &cloud.ServiceNetwork{Family: cloud.OfIPv6}
	case services != "":
		in.Services = &cloud.ServiceNetwork{Range: services}
	}
	in.Encryption = m.encryption()
	if m.want.UpgradePolicy != "" {
		in.Upgrades = &cloud.UpgradePolicy{Support: strings.ToUpper(m.want.UpgradePolicy)}
	}
	m.p.o.Log.InfoContext(ctx, "requesting a cluster of EKS", "cluster", m.c.Key.String(), "name", in.Name, "version", in.Version)
	defer m.changed()
	m.p.names.Note(m.owner, in.Name)
	err = m.place.CreateManagedCluster(ctx, in)
	if !cloud.Is(err, "ResourceInUseException") {
		return cloud.Named(err)
	}
	if is, found := m.place.ManagedCluster(ctx, in.Name); found == nil && m.c.Owns(is.Tags) { // another request made it
		return nil
	}
	return err
}

// tags returns those of the cluster.
func (m *managed) tags() cloud.Tags {
	more := make(cloud.Tags)
	if m.want.AssociateOIDCProvider {
		more[trustTag] = yes
	}
	if m.want.OIDCIdentityProviderConfig != nil {
		more[identityProviderTag] = yes
	}
	return m.shared("control-plane", "control-plane", more)
}

// encryption returns what is encrypted; nil: nothing with a key of people.
func (m *managed) encryption() []cloud.Encryption {
	e := m.want.EncryptionConfig
	if e == nil {
		return nil
	}
	one := cloud.Encryption{Resources: e.Resources}
	one.Provider.Key = e.Provider
	return []cloud.Encryption{one}
}

// Delete implements providers.HostedControlPlane: the cluster goes, which has no node groups and Fargate profiles any more, and
// then its network.
func (k *ControlPlane) Delete(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	what := "delete the control plane of " + c.Key.String()
	p, err := k.provider()
	if err != nil {
		return err
	}
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return cloud.WrapLook(what, err)
	}
	switch {
	case m.is == nil && m.lost:
		return fleet.Errorf(fleet.Conflict, what, "%s", m.notOurs())
	case m.is == nil:
		return cloud.Wrap(what, p.removeShared(ctx, what, c, m.view))
	case m.is.Status == cloud.Deleting:
		return nil
	}
	names, err := m.place.Nodegroups(ctx, m.is.Name)
	if err != nil && !cloud.IsNotFound(err) {
		return cloud.WrapLook(what, err)
	}
	if len(names) > 0 {
		slices.Sort(names)
		return fleet.Errorf(fleet.Conflict, what, "cluster %s of EKS still has the node groups %s (those that are not in Git, delete in AWS)", m.is.Name, strings.Join(names, ", "))
	}
	if err := m.dropTrust(ctx); err != nil {
		return cloud.Wrap(what, err)
	}
	p.o.Log.InfoContext(ctx, "deleting a cluster of EKS", "cluster", c.Key.String(), "name", m.is.Name)
	defer m.changed()
	return cloud.Wrap(what, busyNow(m.place.DeleteManagedCluster(ctx, m.is.Name)))
}
