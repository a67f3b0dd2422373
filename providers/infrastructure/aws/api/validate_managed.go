package api

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers/driver/objects"
)

// The ways into a cluster of EKS. It goes from one to the next, and never back.
const (
	AccessByConfigMap = "config_map"
	AccessByBoth      = "api_and_config_map"
	AccessByAPI       = "api"
)

// AccessModes are the ways into a cluster, in the order in which it may change.
func AccessModes() []string { return []string{AccessByConfigMap, AccessByBoth, AccessByAPI} }

// The programs that people get tokens from.
const (
	TokenByCLI           = "aws-cli"
	TokenByAuthenticator = "iam-authenticator"
)

// The scopes of access policies, and the type of an entry for people.
const (
	WholeCluster    = "cluster"
	SomeNamespaces  = "namespace"
	StandardEntry   = "standard"
	MachineEntry    = "ec2_linux"
	SecretsInEtcd   = "secrets"
	OnDemandNodes   = "onDemand"
	SpotNodes       = "spot"
	PublicSubnets   = "public"
	PrivateSubnets  = "private"
	AllSubnets      = "all"
	ServiceRole     = "eks-controlplane.cluster-api-provider-aws.sigs.k8s.io"
	NodeServiceRole = "eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"
)

// The longest names of EKS.
// Source: EKS API reference, CreateCluster and CreateNodegroup.
const (
	longestCluster   = 100
	longestNodegroup = 63
)

// What becomes of fields that something else than the addon set, by default.
const (
	OverwriteConflicts = "overwrite"
	RefuseConflicts    = "none"
)

// shortestAddon is how short the name of an addon may be.
const shortestAddon = 2

// leastZones is in how many zones the subnets of a control plane are, at least.
const leastZones = 2

var (
	managedName  = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]*$`)
	mappedRole   = regexp.MustCompile(`^arn:[a-z-]+:iam::[0-9]+:role/[^/]+$`)
	mappedUser   = regexp.MustCompile(`^arn:[a-z-]+:iam::[0-9]+:user/.+$`)
	minorVersion = regexp.MustCompile(`^v?([1-9][0-9]*\.[0-9]+)(\.[0-9]+)?$`)
)

// managedControlPlane is a kinds.Normaliser. Of the version only the minor one counts: AWS decides about patches.
func managedControlPlane(o metav1.Object, at *field.Path, s *AWSManagedControlPlaneSpec) (any, field.ErrorList) {
	v := new(validator)
	out := &fleet.HostedManifest{Spec: s}
	if v.Required(at.Child("version"), s.Version, "the version of Kubernetes, such as v1.34") {
		if m := minorVersion.FindStringSubmatch(s.Version); m != nil {
			out.Version = "v" + m[1] + ".0"
		} else {
			v.Invalid(at.Child("version"), s.Version, "must be a version of Kubernetes such as v1.34")
		}
	}
	s.Version = strings.TrimSuffix(strings.TrimPrefix(out.Version, "v"), ".0")
	if v.Required(at.Child("region"), s.Region, "the region of the cluster, such as eu-central-1") {
		v.region(at.Child("region"), s.Region)
	}
	s.EKSClusterName = v.managedName(at.Child("eksClusterName"), s.EKSClusterName, o, longestCluster)
	if s.IdentityRef == nil {
		s.IdentityRef = &IdentityReference{Kind: ControllerIdentity, Name: DefaultIdentity}
	}
	v.identityRef(at.Child("identityRef"), s.IdentityRef)
	v.tags(at.Child("additionalTags"), s.AdditionalTags)
	if s.Network == nil {
		s.Network = &Network{}
	}
	if s.Bastion != nil {
		v.Forbidden(at.Child("bastion", "enabled"), s.Bastion.Enabled, noPlaneBastion)
	}
	s.ControlPlaneEndpoint, s.Bastion = nil, nil
	if cni := s.Network.CNI; cni != nil && len(cni.CNIIngressRules) > 0 && !slices.Equal(cni.CNIIngressRules, calicoRules()) {
		v.Forbidden(at.Child("network", "cni"), true, groupsOfEKS)
	}
	v.network(at.Child("network"), s.Network)
	s.Network.CNI = nil
	if n := s.Network.VPC; n.ID == "" && len(s.Network.Subnets) == 0 && *n.AvailabilityZoneUsageLimit < leastZones {
		v.Invalid(at.Child("network", "vpc", "availabilityZoneUsageLimit"), *n.AvailabilityZoneUsageLimit, "must be 2 or more: EKS needs subnets in two zones")
	}
	if s.RoleName == "" {
		s.RoleName = ServiceRole
	}
	s.RolePath = v.rolePath(at.Child("rolePath"), s.RolePath)
	v.access(at, s)
	v.authenticator(at, s)
	v.endpointAccess(at.Child("endpointAccess"), s)
	v.addons(at.Child("addons"), s)
	v.components(at, s)
	if s.OIDCIdentityProviderConfig != nil {
		v.identityProvider(at.Child("oidcIdentityProviderConfig"), s.OIDCIdentityProviderConfig)
	}
	v.image(at, s.ImageLookupFormat)
	v.sshKeyName(at.Child("sshKeyName"), s.SSHKeyName)
	if s.Logging == nil {
		s.Logging = &Logging{}
	}
	if e := s.EncryptionConfig; e != nil {
		v.Required(at.Child("encryptionConfig", "provider"), e.Provider, "the ARN of a key of KMS")
		if len(e.Resources) == 0 {
			e.Resources = []string{SecretsInEtcd}
		}
		if !slices.Equal(e.Resources, []string{SecretsInEtcd}) {
			v.Invalid(at.Child("encryptionConfig", "resources"), e.Resources, "must be ["+SecretsInEtcd+"]: EKS encrypts nothing else")
		}
	}
	if s.UpgradePolicy != "" {
		objects.Enum(v, at.Child("upgradePolicy"), s.UpgradePolicy, "extended", "standard")
	}
	if s.TokenMethod == "" {
		s.TokenMethod = TokenByCLI
	}
	objects.Enum(v, at.Child("tokenMethod"), s.TokenMethod, TokenByCLI, TokenByAuthenticator)
	if s.BootstrapSelfManagedAddons == nil {
		s.BootstrapSelfManagedAddons = ptr.To(true)
	}
	return out, v.Errors()
}

// identityProvider checks one of people.
// Source: EKS API reference, OidcIdentityProviderConfigRequest.
func (v *validator) identityProvider(at *field.Path, p *OIDCIdentityProvider) {
	if below := at.Child("identityProviderConfigName"); v.Required(below, p.IdentityProviderConfigName, "the name of the identity provider in the cluster") && !managedName.MatchString(p.IdentityProviderConfigName) {
		v.Invalid(below, p.IdentityProviderConfigName, "must be letters, digits, - and _, and begin with a letter or a digit")
	}
	v.Text(at.Child("identityProviderConfigName"), p.IdentityProviderConfigName, longestCluster)
	v.Required(at.Child("clientId"), p.ClientID, "the client of the cluster at the identity provider: its tokens are for it")
	if below := at.Child("issuerUrl"); v.Required(below, p.IssuerURL, "the URL of the issuer of tokens") {
		if u, err := url.Parse(p.IssuerURL); err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			v.Invalid(below, p.IssuerURL, "must be a URL such as https://login.example.com, without a query")
		}
	}
	for claim, value := range p.RequiredClaims {
		if claim == "" || len(claim) > 63 || value == "" || len(value) > 253 {
			v.Invalid(at.Child("requiredClaims"), claim+": "+value, "must be a claim of at most 63 characters and a value of at most 253")
		}
	}
	v.tags(at.Child("tags"), p.Tags)
}

// addons checks those that EKS is to keep.
func (v *validator) addons(at *field.Path, s *AWSManagedControlPlaneSpec) {
	objects.Unique(v, at, s.Addons, "name", func(a Addon) string { return a.Name })
	for i := range s.Addons {
		a, below := &s.Addons[i], at.Index(i)
		if v.Required(below.Child("name"), a.Name, "the name of the addon, such as vpc-cni") && (!managedName.MatchString(a.Name) || len(a.Name) < shortestAddon) {
			v.Invalid(below.Child("name"), a.Name, "must be the name of an addon of EKS, such as vpc-cni")
		}
		v.Required(below.Child("version"), a.Version, "the version of the addon, such as v1.20.4-eksbuild.1")
		if a.ConflictResolution == "" {
			a.ConflictResolution = OverwriteConflicts
		}
		objects.Enum(v, below.Child("conflictResolution"), a.ConflictResolution, OverwriteConflicts, RefuseConflicts, "preserve")
		if arn := a.ServiceAccountRoleARN; arn != "" && !strings.HasPrefix(arn, "arn:") {
			v.Invalid(below.Child("serviceAccountRoleARN"), arn, "must be the ARN of a role of IAM")
		}
		var values map[string]any
		if err := documents.UnmarshalStrict([]byte(a.Configuration), &values, documents.AddonLimits()); err != nil {
			v.Invalid(below.Child("configuration"), a.Configuration, "must be an object of JSON or YAML: "+documents.OneLine(err))
		}
	}
}

// managedName checks the name of something of EKS, and returns upstream's where Git has none.
// Source: CAPA, pkg/eks/eks.go, GenerateEKSName.
func (v *validator) managedName(at *field.Path, name string, o metav1.Object, longest int) string {
	if name == "" {
		name = o.GetNamespace() + "_" + strings.ReplaceAll(o.GetName(), ".", "-")
		if len(name) > longest {
			v.Required(at, "", "the name by default, "+name+", is longer than the characters that EKS takes: name it")
			return name
		}
	}
	if !managedName.MatchString(name) || len(name) > longest {
		v.Invalid(at, name, "must begin with a letter or a digit and have only letters, digits, - and _, and be short enough for EKS")
	}
	return name
}

// rolePath returns the path of a role with a slash at both ends.
func (v *validator) rolePath(at *field.Path, path string) string {
	if path == "" {
		return "/"
	}
	if !strings.HasPrefix(path, "/") || !strings.HasSuffix(path, "/") {
		v.Invalid(at, path, "must begin and end with /")
	}
	return path
}

func (v *validator) access(at *field.Path, s *AWSManagedControlPlaneSpec) {
	if s.AccessConfig == nil {
		s.AccessConfig = &AccessConfig{}
	}
	a, below := s.AccessConfig, at.Child("accessConfig")
	if a.AuthenticationMode == "" {
		a.AuthenticationMode = AccessByConfigMap
	}
	objects.Enum(v, below.Child("authenticationMode"), a.AuthenticationMode, AccessModes()...)
	if a.BootstrapClusterCreatorAdminPermissions == nil {
		a.BootstrapClusterCreatorAdminPermissions = ptr.To(true)
	}
	if a.AuthenticationMode == AccessByConfigMap && !*a.BootstrapClusterCreatorAdminPermissions {
		v.Invalid(below.Child("bootstrapClusterCreatorAdminPermissions"), false, "nothing could let the agent in: set authenticationMode: "+AccessByBoth)
	}
	entries := at.Child("accessEntries")
	v.Forbidden(entries, len(s.AccessEntries) > 0 && a.AuthenticationMode == AccessByConfigMap, "needs accessConfig.authenticationMode "+AccessByBoth+" or "+AccessByAPI)
	objects.Unique(v, entries, s.AccessEntries, "principalARN", func(e AccessEntry) string { return e.PrincipalARN })
	for i := range s.AccessEntries {
		v.accessEntry(entries.Index(i), &s.AccessEntries[i])
	}
}

// components checks what is to become of what EKS installs by itself. What an addon of EKS installs is kept by EKS.
func (v *validator) components(at *field.Path, s *AWSManagedControlPlaneSpec) {
	has := func(addon string) bool {
		return slices.ContainsFunc(s.Addons, func(a Addon) bool { return a.Name == addon })
	}
	const kubeProxy, plugin = "kube-proxy", "vpc-cni"
	if s.KubeProxy != nil {
		v.Forbidden(at.Child("kubeProxy", "disable"), s.KubeProxy.Disable && has(kubeProxy), "addons has "+kubeProxy+": leave one of both out")
	}
	if n := s.VPCCNI; n != nil {
		v.Forbidden(at.Child("vpcCni", "disable"), n.Disable && has(plugin), "addons has "+plugin+": leave one of both out")
		v.Forbidden(at.Child("vpcCni", "env"), len(n.Env) > 0 && has(plugin), "addons has "+plugin+": set env in its configuration")
		v.Forbidden(at.Child("vpcCni", "env"), len(n.Env) > 0 && n.Disable, "is for what vpcCni.disable removes: leave one of both out")
		objects.Unique(v, at.Child("vpcCni", "env"), n.Env, "name", func(e corev1.EnvVar) string { return e.Name })
	}
}

// authenticator checks the rows of the ConfigMap aws-auth.
// Source: CAPA, controlplane/eks/api/v1beta2/validate.go; aws-iam-authenticator, README: an ARN of a role there has no path.
func (v *validator) authenticator(at *field.Path, s *AWSManagedControlPlaneSpec) {
	a, below := s.IAMAuthenticatorConfig, at.Child("iamAuthenticatorConfig")
	if a == nil {
		return
	}
	v.Forbidden(below, s.AccessConfig.AuthenticationMode == AccessByAPI && len(a.MapRoles)+len(a.MapUsers) > 0, "with accessConfig.authenticationMode "+AccessByAPI+" EKS does not read aws-auth: use accessEntries")
	objects.Unique(v, below.Child("mapRoles"), a.MapRoles, "rolearn", func(r RoleMapping) string { return r.RoleARN })
	objects.Unique(v, below.Child("mapUsers"), a.MapUsers, "userarn", func(u UserMapping) string { return u.UserARN })
	row := func(at *field.Path, name, arn string, valid *regexp.Regexp, like, username string, groups []string) {
		if v.Required(at.Child(name), arn, "such as "+like) && !valid.MatchString(arn) {
			v.Invalid(at.Child(name), arn, "must be like "+like)
		}
		v.Required(at.Child("username"), username, "the name in the cluster")
		if len(groups) == 0 {
			v.Required(at.Child("groups"), "", "the groups in the cluster")
		}
	}
	for i, r := range a.MapRoles {
		row(below.Child("mapRoles").Index(i), "rolearn", r.RoleARN, mappedRole, "arn:aws:iam::123456789012:role/NAME, without a path", r.Username, r.Groups)
	}
	for i, u := range a.MapUsers {
		row(below.Child("mapUsers").Index(i), "userarn", u.UserARN, mappedUser, "arn:aws:iam::123456789012:user/NAME", u.Username, u.Groups)
	}
}

func (v *validator) accessEntry(at *field.Path, e *AccessEntry) {
	if v.Required(at.Child("principalARN"), e.PrincipalARN, "the ARN of a user or a role of IAM") && !strings.HasPrefix(e.PrincipalARN, "arn:") {
		v.Invalid(at.Child("principalARN"), e.PrincipalARN, "must be the ARN of a user or a role of IAM")
	}
	if e.Type == "" {
		e.Type = StandardEntry
	}
	objects.Enum(v, at.Child("type"), e.Type, StandardEntry, MachineEntry, "ec2_windows", "fargate_linux", "ec2", "hybrid_linux", "hyperpod_linux")
	if e.Type != StandardEntry && e.Type != "ec2" {
		v.Forbidden(at.Child("accessPolicies"), len(e.AccessPolicies) > 0, "an entry for machines has no policies: leave them out")
	}
	if e.Type != StandardEntry {
		v.Forbidden(at.Child("kubernetesGroups"), len(e.KubernetesGroups) > 0, "an entry for machines has the groups of EKS: leave them out")
		v.Forbidden(at.Child("username"), e.Username != "", "an entry for machines has the name of EKS: leave it out")
	}
	e.KubernetesGroups = objects.Set(v, at.Child("kubernetesGroups"), e.KubernetesGroups)
	policies := at.Child("accessPolicies")
	objects.Unique(v, policies, e.AccessPolicies, "policyARN", func(p AccessPolicy) string { return p.PolicyARN })
	for i := range e.AccessPolicies {
		p, below := &e.AccessPolicies[i], policies.Index(i)
		v.Required(below.Child("policyARN"), p.PolicyARN, "the ARN of an access policy of EKS")
		scope := below.Child("accessScope")
		if p.AccessScope.Type == "" {
			p.AccessScope.Type = WholeCluster
		}
		objects.Enum(v, scope.Child("type"), p.AccessScope.Type, WholeCluster, SomeNamespaces)
		switch some := len(p.AccessScope.Namespaces) > 0; {
		case p.AccessScope.Type == SomeNamespaces && !some:
			v.Required(scope.Child("namespaces"), "", "the namespaces in which the policy holds")
		case p.AccessScope.Type == WholeCluster:
			v.Forbidden(scope.Child("namespaces"), some, "the policy holds in all namespaces: set type: "+SomeNamespaces)
		}
		p.AccessScope.Namespaces = objects.Set(v, scope.Child("namespaces"), p.AccessScope.Namespaces)
	}
}

func (v *validator) endpointAccess(at *field.Path, s *AWSManagedControlPlaneSpec) {
	if s.EndpointAccess == nil {
		s.EndpointAccess = &EndpointAccess{}
	}
	e := s.EndpointAccess
	if e.Public == nil {
		e.Public = ptr.To(true)
	}
	if e.Private == nil {
		e.Private = ptr.To(false)
	}
	v.Forbidden(at, !*e.Public && !*e.Private, "the API server has to be reached: set public or private")
	for i, c := range e.PublicCIDRs {
		e.PublicCIDRs[i] = v.cidr(at.Child("publicCIDRs").Index(i), c, false)
	}
	switch {
	case !*e.Public:
		v.Forbidden(at.Child("publicCIDRs"), len(e.PublicCIDRs) > 0, "the endpoint is not public: leave them out")
	case len(e.PublicCIDRs) == 0:
		e.PublicCIDRs = []string{"0.0.0.0/0"}
	}
	e.PublicCIDRs = objects.Set(v, at.Child("publicCIDRs"), e.PublicCIDRs)
}

// servingManaged implements fleet.Kind: no machine serves the API of such a cluster.
func servingManaged(any) field.ErrorList {
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), "an AWSManagedCluster is for a control plane that EKS keeps: use an AWSManagedControlPlane, or for a control plane of machines an AWSCluster")}
}

// managedCluster has nothing to check: controllers write the only field.
func (v *validator) managedCluster(_ *field.Path, s *AWSManagedClusterSpec) {
	s.ControlPlaneEndpoint = nil
}

// managedPool is a kinds.Normaliser.
func managedPool(o metav1.Object, at *field.Path, s *AWSManagedMachinePoolSpec) (any, field.ErrorList) {
	v := new(validator)
	v.tags(at.Child("additionalTags"), s.AdditionalTags)
	s.EKSNodegroupName = v.managedName(at.Child("eksNodegroupName"), s.EKSNodegroupName, o, longestNodegroup)
	v.launchTemplate(at, s)
	if s.CapacityType == "" {
		s.CapacityType = OnDemandNodes
	}
	objects.Enum(v, at.Child("capacityType"), s.CapacityType, OnDemandNodes, SpotNodes)
	if s.RoleName == "" {
		s.RoleName = NodeServiceRole
	}
	s.RolePath = v.rolePath(at.Child("rolePath"), s.RolePath)
	if s.AvailabilityZoneSubnetType == "" {
		s.AvailabilityZoneSubnetType = PrivateSubnets
	}
	objects.Enum(v, at.Child("availabilityZoneSubnetType"), s.AvailabilityZoneSubnetType, PublicSubnets, PrivateSubnets, AllSubnets)
	s.AvailabilityZones = objects.Set(v, at.Child("availabilityZones"), s.AvailabilityZones)
	s.SubnetIDs = objects.Set(v, at.Child("subnetIDs"), s.SubnetIDs)
	v.Forbidden(at.Child("subnetIDs"), len(s.SubnetIDs) > 0 && len(s.AvailabilityZones) > 0, "subnets are named by subnetIDs or chosen by availabilityZones: leave one of both out")
	for i, id := range s.SubnetIDs {
		v.id(at.Child("subnetIDs").Index(i), id, "subnet-")
	}
	v.scaling(at, s)
	objects.Unique(v, at.Child("taints"), s.Taints, "key", func(t NodeTaint) string { return t.Key + " " + t.Effect })
	for i, t := range s.Taints {
		objects.Enum(v, at.Child("taints").Index(i).Child("effect"), t.Effect, "no-schedule", "no-execute", "prefer-no-schedule")
		v.Required(at.Child("taints").Index(i).Child("key"), t.Key, "the key of the taint")
	}
	if r := s.RemoteAccess; r != nil {
		below := at.Child("remoteAccess")
		r.SourceSecurityGroups = objects.Set(v, below.Child("sourceSecurityGroups"), r.SourceSecurityGroups)
		v.sshKeyName(below.Child("sshKeyName"), r.SSHKeyName)
		switch some := len(r.SourceSecurityGroups) > 0; {
		case ptr.Deref(r.SSHKeyName, "") == "":
			v.Required(below.Child("sshKeyName"), "", "the key pair of people")
		case !some && !r.Public:
			v.Required(below.Child("sourceSecurityGroups"), "", "from where people reach the machines: without them EKS lets in everybody, which public: true says")
		case r.Public:
			v.Forbidden(below.Child("public"), some, "sourceSecurityGroups say from where: leave one of both out")
		}
	}
	return s, v.Errors()
}

// CustomImage is the type of an image of people.
const CustomImage = "CUSTOM"

// templateName is the name of a launch template.
// Source: EC2 API reference, CreateLaunchTemplate.
var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

// launchTemplate checks the launch template of a node group: EKS takes each setting there or beside it, and an image of people has
// neither a type nor a version.
// Source: EKS user guide, "Customize managed nodes with launch templates"; EKS API reference, UpdateNodegroupVersion.
func (v *validator) launchTemplate(at *field.Path, s *AWSManagedMachinePoolSpec) {
	t, below, image := s.AWSLaunchTemplate, at.Child("awsLaunchTemplate"), s.Image()
	if s.AMIType == CustomImage && image == "" {
		v.Add(field.Required(below.Child("ami", "id"), "amiType is "+CustomImage+": name the image of your own, or use an amiType of EKS"))
	}
	if t == nil {
		return
	}
	m := t.Machine(nil)
	m.InstanceType = cmp.Or(t.InstanceType, s.InstanceType, "t3.medium") // which EKS chooses
	v.machineOf(below, at, &m)
	t.InstanceMetadataOptions = m.InstanceMetadataOptions
	if t.Name != "" && !templateName.MatchString(t.Name) {
		v.Invalid(below.Child("name"), t.Name, "must have 3 to 128 letters, digits and ( ) . - / _")
	}
	if t.MarketType != "" && t.MarketType != OnDemand {
		v.Invalid(below.Child("marketType"), t.MarketType, "EKS takes no market in a launch template: leave it out, and set capacityType: "+SpotNodes+" for spot instances")
	}
	v.Forbidden(below.Child("capacityReservationId"), t.CapacityReservationID != "" && s.CapacityType == SpotNodes, "a spot instance has no reservation")
	v.Forbidden(at.Child("instanceType"), s.InstanceType != "" && t.InstanceType != "", "awsLaunchTemplate.instanceType says it, too, and EKS takes one: leave one of both out")
	v.Forbidden(at.Child("diskSize"), s.DiskSize != 0, "EKS takes none beside a launch template: set awsLaunchTemplate.rootVolume.size")
	v.Forbidden(at.Child("remoteAccess"), s.RemoteAccess != nil, "EKS takes none beside a launch template: set awsLaunchTemplate.sshKeyName and awsLaunchTemplate.additionalSecurityGroups")
	if image == "" {
		return
	}
	if !strings.HasPrefix(image, "ami-") {
		v.Invalid(below.Child("ami", "id"), image, "must be the id of an image: a node group takes no parameter")
	}
	const own = "awsLaunchTemplate.ami.id names the image: leave one of both out"
	v.Forbidden(at.Child("amiType"), s.AMIType != "" && s.AMIType != CustomImage, own)
	v.Forbidden(at.Child("amiVersion"), s.AMIVersion != "", own)
	s.AMIType = CustomImage
}

// hasOwnImage implements fleet.Kind: EKS sets up machines with images of its own by itself.
func hasOwnImage(spec any) bool {
	s, ok := spec.(*AWSManagedMachinePoolSpec)
	return ok && s.Image() != ""
}

func (v *validator) scaling(at *field.Path, s *AWSManagedMachinePoolSpec) {
	if c := s.Scaling; c != nil {
		low, high := ptr.Deref(c.MinSize, 0), ptr.Deref(c.MaxSize, 0)
		if low < 0 || high < 0 || c.MaxSize != nil && (high < 1 || low > high) {
			v.Invalid(at.Child("scaling"), "", "must have 0 ≤ minSize ≤ maxSize, and a maxSize of 1 or more")
		}
	}
	u := s.UpdateConfig
	if u == nil {
		return
	}
	one, part := ptr.Deref(u.MaxUnavailable, 0), ptr.Deref(u.MaxUnavailablePercentage, 0)
	if (u.MaxUnavailable == nil) == (u.MaxUnavailablePercentage == nil) || one < 0 || one > 100 || part < 0 || part > 100 || one+part == 0 {
		v.Invalid(at.Child("updateConfig"), "", "must have one of maxUnavailable and maxUnavailablePercentage, from 1 to 100")
	}
}
