package azure

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A ControlPlane is the providers.HostedControlPlane of AKS. The network of a cluster is a part of it: AKS needs the
// subnet first, and it goes last.
type ControlPlane struct {
	provider func() (*Provider, error)
}

var _ providers.HostedControlPlane = (*ControlPlane)(nil)

// NewControlPlane returns the ControlPlane of p.
func NewControlPlane(p *Provider) *ControlPlane {
	return &ControlPlane{func() (*Provider, error) { return p, nil }}
}

// OpenControlPlane returns the ControlPlane of the provider that is open, or of one with the options o. What is wrong with
// them is an error of each call.
func OpenControlPlane(o providers.Options) *ControlPlane {
	return &ControlPlane{sync.OnceValues(func() (*Provider, error) {
		if o.Opened == nil {
			return fromOptions(o)
		}
		p, err := o.Opened(api.ProviderName)
		if err != nil {
			return nil, err
		}
		own, ok := p.(*Provider)
		if !ok {
			return nil, fleet.Errorf(fleet.Invalid, "open the control planes of AKS", "provider %s is a %T", api.ProviderName, p)
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
		return out, arm.WrapLook(op, err)
	}
	s := &out.State
	s.Exists, s.Message = m.is != nil || m.lost || m.exists(), m.message()
	network := m.networkOnly()
	switch {
	case c.Delete && m.is == nil:
		if !m.lost {
			s.Message = p.deletion(m.view)
		}
		x, err := m.member(ctx)
		if x != nil { // people deleted the cluster
			s.Exists, s.Message = true, x.what+" is to be deleted"
		}
		return out, err
	case m.is == nil && !m.foreign && len(network.Steps)+len(network.Waits)+len(network.Faults) > 0:
		s.Message = "its network is not complete: " + network.Message()
	}
	if m.is == nil {
		return out, nil
	}
	if m.is.Properties.Version != "" {
		s.Version = "v" + m.is.Properties.Version
	}
	if !m.serves() {
		return out, nil
	}
	if !c.Delete { // what is to go is reached until its end, and not changed
		changes := m.changes()
		for _, err := range slices.Concat(network.Faults, changes.faults) {
			s.Drift = append(s.Drift, err.Error())
		}
		for _, step := range network.Steps {
			s.Drift = append(s.Drift, step.What)
		}
		s.Drift = append(s.Drift, changes.what()...)
		beside := m.decideExtras(m.lookAtExtras(ctx))
		for _, err := range beside.Faults {
			s.Drift = append(s.Drift, err.Error())
		}
		for _, step := range beside.Steps {
			s.Drift = append(s.Drift, step.What)
		}
		slices.Sort(s.Drift)
		if text := overruledText(changes.overruled); text != "" {
			s.Message = strings.TrimPrefix(s.Message+"; "+text, "; ")
		}
	}
	if s.Endpoint, out.Secrets, err = m.access(ctx); err != nil {
		if kind := fleet.KindOf(arm.WrapLook(op, err)); kind == fleet.Unavailable || kind == fleet.Unanswered {
			return out, arm.WrapLook(op, err)
		}
		s.Message = arm.WrapLook("get the admin credential", err).Error()
		return out, nil
	}
	s.Ready = true
	return out, nil
}

// An admin is the credential of the admins of a cluster.
type admin struct {
	id, etag string
	at       time.Time
	endpoint fleet.Endpoint
	secrets  map[fleet.SecretName]fleet.SecretData
}

// adminKept is how long a credential is used without another request: Azure counts it as a change.
const adminKept = 10 * time.Minute

// access returns where the API server answers, the kubeconfig of admins and the certificate of its CA.
// Source: AKS REST API, Managed Clusters, List Cluster Admin Credentials.
func (m *managed) access(ctx context.Context) (fleet.Endpoint, map[fleet.SecretName]fleet.SecretData, error) {
	if a, ok := m.p.admins.Of(m.owner); ok && a.id == m.is.ID && a.etag == m.is.ETag && time.Since(a.at) < adminKept {
		return a.endpoint, a.secrets, nil
	}
	var answer arm.Kubeconfigs
	if err := m.place.Post(ctx, m.is.ID, "listClusterAdminCredential", &answer); err != nil {
		return fleet.Endpoint{}, nil, err
	}
	if len(answer.All) == 0 {
		return fleet.Endpoint{}, nil, fleet.Errorf(fleet.Unknown, "", "Azure gives none")
	}
	e, secrets, err := readKubeconfig(answer.All[0].Value)
	if err == nil {
		m.p.admins.Note(m.owner, admin{m.is.ID, m.is.ETag, time.Now(), e, secrets})
	}
	return e, secrets, err
}

// A kubeconfig is what is used of one that AKS gives: nothing of it is run, and no file is read.
type kubeconfig struct {
	APIVersion     string         `json:"apiVersion"`
	Kind           string         `json:"kind"`
	CurrentContext string         `json:"current-context"`
	Clusters       []namedCluster `json:"clusters"`
	Users          []namedUser    `json:"users"`
	Contexts       []namedContext `json:"contexts"`
}

type namedCluster struct {
	Name    string `json:"name"`
	Cluster struct {
		Server string `json:"server"`
		CA     []byte `json:"certificate-authority-data"`
	} `json:"cluster"`
}

type namedUser struct {
	Name string `json:"name"`
	User struct {
		Certificate []byte `json:"client-certificate-data"`
		Key         []byte `json:"client-key-data"`
	} `json:"user"`
}

type namedContext struct {
	Name    string            `json:"name"`
	Context map[string]string `json:"context"`
}

func readKubeconfig(data []byte) (fleet.Endpoint, map[fleet.SecretName]fleet.SecretData, error) {
	const op = "read the kubeconfig that AKS gives"
	var in kubeconfig
	if err := documents.Unmarshal(data, &in, documents.DefaultLimits()); err != nil || len(in.Clusters) != 1 || len(in.Users) != 1 {
		return fleet.Endpoint{}, nil, fleet.Errorf(fleet.Unknown, op, "it is no kubeconfig of one cluster and one user")
	}
	cluster, user := in.Clusters[0].Cluster, in.Users[0].User
	u, err := url.Parse(cluster.Server)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || len(cluster.CA) == 0 || len(user.Certificate) == 0 || len(user.Key) == 0 {
		return fleet.Endpoint{}, nil, fleet.Errorf(fleet.Unknown, op, "it lacks an https URL, a CA or a client certificate")
	}
	e := fleet.Endpoint{Host: u.Hostname(), Port: 443}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		e.Port = int32(port)
	}
	const name = "aks"
	out := kubeconfig{
		APIVersion: "v1", Kind: "Config", CurrentContext: name, Clusters: in.Clusters, Users: in.Users,
		Contexts: []namedContext{{name, map[string]string{"cluster": name, "user": name}}},
	}
	out.Clusters[0].Name, out.Users[0].Name = name, name
	config, err := json.Marshal(out)
	return e, map[fleet.SecretName]fleet.SecretData{
		fleet.Kubeconfig: {fleet.KubeconfigKey: fleet.NewSecret(config)},
		fleet.ClusterCA:  {fleet.TLSCertKey: fleet.NewSecret(cluster.CA)},
	}, err
}

// Ensure implements providers.HostedControlPlane: first the network, then the cluster, then one change of it at a time.
func (k *ControlPlane) Ensure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	what := "create or change the control plane of " + c.Key.String()
	p, err := k.provider()
	if err != nil {
		return err
	}
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return arm.WrapLook(what, err)
	}
	if m.is == nil && m.foreign {
		return fleet.Errorf(fleet.Conflict, what, "%s", m.notOurs())
	}
	errs := m.perform(ctx, m.networkOnly)
	d := m.networkOnly()
	errs = append(errs, d.Faults...)
	if m.is == nil {
		if len(errs) == 0 && len(d.Steps)+len(d.Waits) == 0 {
			errs = append(errs, m.create(ctx, op))
		}
		return arm.Wrap(what, fleet.JoinErrors(errs...))
	}
	if m.is.Properties.Power.Code == stopped {
		return fleet.Errorf(fleet.Conflict, what, "%s", m.message())
	}
	errs = append(errs, m.ensureExtras(ctx)...)
	changes := m.changes()
	errs = append(errs, changes.faults...)
	if m.idle() && !m.rests(changes) {
		errs = append(errs, m.apply(ctx, changes)...)
	}
	return arm.Wrap(what, fleet.JoinErrors(errs...))
}

// create asks for the cluster, with its first System pool.
func (m *managed) create(ctx context.Context, op fleet.OperationID) error {
	first, err := m.firstPool()
	if err != nil {
		return err
	}
	pool, err := m.wantedPool(first)
	if err != nil {
		return err
	}
	body, err := m.wanted()
	if err != nil {
		return err
	}
	profile := pool.create(op)
	profile["name"] = pool.spec.Name
	p := propertiesIn(body)
	p["agentPoolProfiles"] = []any{profile}
	p["kubernetesVersion"], p["enableRBAC"] = m.want.Version, true
	body["location"], body["tags"] = m.spec.Location, m.tags()
	id := m.place.resource(arm.ManagedClusters, m.name)
	m.p.o.Log.InfoContext(ctx, "requesting a cluster of AKS", "cluster", m.c.Key.String(), "name", m.name, "version", m.want.Version)
	defer m.changed()
	err = m.place.Put(ctx, id, body, arm.Absent())
	if err == nil || arm.Kind(err) == fleet.Unanswered {
		m.p.names.Note(m.owner, m.name)
	}
	if !arm.IsTaken(err) {
		return arm.Named(err)
	}
	if found := m.find(ctx, m.name); found == nil && m.is != nil { // another request made it
		return nil
	}
	return err
}

// tags returns those of the cluster. AKS gives them to all that it makes, too.
func (m *managed) tags() arm.Tags { return m.shared("control-plane", nil) }

// firstPool returns the System pool that a cluster is made with: AKS makes none without.
func (m *managed) firstPool() (fleet.KeptPool, error) {
	for _, p := range m.c.KeptPools {
		if spec, err := api.ReadPool(p.Infrastructure); err == nil && spec.Mode == api.SystemPool {
			return p, nil
		}
	}
	return fleet.KeptPool{}, fleet.Errorf(fleet.Invalid, "find a System pool", "AKS makes no cluster without one (add a MachinePool that refers to an AzureManagedMachinePool with mode: System)")
}

// Delete implements providers.HostedControlPlane: the cluster goes with its last System pool, and then its network.
func (k *ControlPlane) Delete(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	what := "delete the control plane of " + c.Key.String()
	p, err := k.provider()
	if err != nil {
		return err
	}
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return arm.WrapLook(what, err)
	}
	switch {
	case m.is == nil && m.lost:
		return fleet.Errorf(fleet.Conflict, what, "%s", m.notOurs())
	case m.is == nil:
		if err := m.leaveFleet(ctx); err != nil {
			return arm.Wrap(what, err)
		}
		return arm.Wrap(what, p.removeShared(ctx, what, m.view))
	}
	return arm.Wrap(what, m.remove(ctx, what))
}

// remove deletes the cluster, if no agent pool is left but one of its own: the last System pool goes with it alone. One that
// is stopped goes with all of its own: AKS deletes no pool of it alone.
func (m *managed) remove(ctx context.Context, what string) error {
	if m.is.Properties.Provisioning == deleting {
		return nil
	}
	all, err := m.allPools(ctx)
	if err != nil {
		return err
	}
	var left []string
	for _, p := range all {
		left = append(left, p.is.Name)
	}
	foreign := slices.ContainsFunc(all, func(p agentPool) bool { return !m.owns(&p) })
	alone := len(all) == 0 || len(all) == 1 && m.lastSystem(all) != nil
	if foreign || !alone && m.is.Properties.Power.Code != stopped {
		return fleet.Errorf(fleet.Conflict, what, "cluster %s of AKS still has the agent pools %s (those that are not in Git, delete in Azure)", m.is.Name, strings.Join(left, ", "))
	}
	if busy := m.busy(); busy != "" {
		return fleet.Errorf(fleet.Unavailable, what, "AKS takes no change now: %s", busy)
	}
	if err := m.leaveFleet(ctx); err != nil {
		return err
	}
	m.p.o.Log.InfoContext(ctx, "deleting a cluster of AKS", "cluster", m.c.Key.String(), "name", m.is.Name)
	defer m.changed()
	return m.deleteOwn(ctx, m.is.ID)
}
