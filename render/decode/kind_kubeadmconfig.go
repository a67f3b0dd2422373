package decode

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

func kubeadmConfigTemplateKind() *kind {
	refused, unused := map[string]string{}, map[string]string{
		"spec.template.metadata.labels":      "there are no KubeadmConfig objects to carry them",
		"spec.template.metadata.annotations": "there are no KubeadmConfig objects to carry them",
	}
	limited := map[string]string{}
	addKubeadmConfig("spec.template.spec.", refused, limited, unused)
	return &kind{
		group: "bootstrap.cluster.x-k8s.io", name: "KubeadmConfigTemplate",
		distribution: kubeadm, role: fleet.BootstrapConfigTemplateKind,
		versions: []string{"v1beta2", "v1beta1"}, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &bootstrapv1beta1.KubeadmConfigTemplate{}
			}
			return &bootstrapv1.KubeadmConfigTemplate{}
		},
		normalise: normaliseKubeadmConfigTemplate,
		values:    kubeadmConfigValues("spec.template.spec."),
		refused:   metadataRefused(refused),
		limited:   limited,
		unused:    metadataUnused(unused),
	}
}

// kubeadmConfigKind is that of the KubeadmConfigs of Machines that stand alone.
func kubeadmConfigKind() *kind {
	refused, limited, unused := map[string]string{}, map[string]string{}, map[string]string{}
	addKubeadmConfig("spec.", refused, limited, unused)
	return &kind{
		group: "bootstrap.cluster.x-k8s.io", name: "KubeadmConfig",
		distribution: kubeadm, role: fleet.BootstrapConfigKind,
		versions: []string{"v1beta2", "v1beta1"}, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &bootstrapv1beta1.KubeadmConfig{}
			}
			return &bootstrapv1.KubeadmConfig{}
		},
		normalise: normaliseKubeadmConfig,
		values:    kubeadmConfigValues("spec."),
		refused:   metadataRefused(refused),
		limited:   limited,
		unused:    metadataUnused(unused),
	}
}

// normaliseKubeadmConfig keeps the rules of Cluster API's webhook for
// KubeadmConfig.
func normaliseKubeadmConfig(v any) (any, field.ErrorList) {
	c, ok := v.(*bootstrapv1.KubeadmConfig)
	if !ok {
		old := v.(*bootstrapv1beta1.KubeadmConfig)
		c = &bootstrapv1.KubeadmConfig{}
		if err := bootstrapv1beta1.Convert_v1beta1_KubeadmConfig_To_v1beta2_KubeadmConfig(old, c, nil); err != nil {
			return nil, cannotConvert(err)
		}
		convertTimeouts(&old.Spec, &c.Spec)
	}
	spec := field.NewPath("spec")
	return kubeadmManifest(&c.Spec, spec), validateKubeadmConfig(&c.Spec, spec)
}

// addKubeadmConfig adds the fields of a KubeadmConfigSpec that are at prefix.
func addKubeadmConfig(prefix string, refused, limited, unused map[string]string) {
	cluster := "it comes from the Cluster; set it there"
	for path, why := range map[string]string{
		"clusterConfiguration.networking":        "it comes from spec.clusterNetwork of the Cluster; set it there",
		"clusterConfiguration.clusterName":       cluster,
		"clusterConfiguration.kubernetesVersion": "it comes from the version of the KubeadmControlPlane or MachineDeployment; set it there",
	} {
		refused[prefix+path] = why
	}
	limited[prefix+"ignition.containerLinuxConfig.additionalConfig"] = "a Container Linux Config without etcd, flannel, docker, update and locksmith, " +
		"or a Butane config of flatcar 1.0.0 and 1.1.0 or fcos 1.4.0 and 1.5.0; unknown fields are refused"
	limited[prefix+"clusterConfiguration.etcd.external"] = "its certificates are in the Secrets <cluster>-etcd (tls.crt) and <cluster>-apiserver-etcd-client (tls.crt, tls.key), in Git or where the agent keeps secrets; " +
		"a running cluster cannot move to it or away"
	limited[prefix+"files.contentFormat"] = "a Template knows .controlPlane.version, as in Cluster API"
	limited[prefix+"files.contentFrom.secret"] = "a Secret in the same overlay"
	limited[prefix+"users.passwdFrom.secret"] = "a Secret in the same overlay"
	unused[prefix+"useExperimentalRetryJoin"] = "does nothing in Cluster API either"
	for _, c := range []string{"clusterConfiguration", "initConfiguration", "joinConfiguration"} {
		unused[prefix+c+".apiVersion"] = "the version of the kubeadm API follows from that of Kubernetes"
		unused[prefix+c+".kind"] = "says what is known"
	}
}

// kubeadmConfigValues are the values of plain strings in the KubeadmConfigSpec
// at prefix.
func kubeadmConfigValues(prefix string) map[string][]string {
	pull := []string{"Always", "IfNotPresent", "Never"}
	return map[string][]string{
		prefix + "diskSetup.partitions.tableType":                     {"mbr", "gpt"},
		prefix + "initConfiguration.nodeRegistration.imagePullPolicy": pull,
		prefix + "joinConfiguration.nodeRegistration.imagePullPolicy": pull,
	}
}

// normaliseKubeadmConfigTemplate keeps the rules of Cluster API's webhook for
// KubeadmConfigTemplate.
func normaliseKubeadmConfigTemplate(v any) (any, field.ErrorList) {
	t, ok := v.(*bootstrapv1.KubeadmConfigTemplate)
	if !ok {
		old := v.(*bootstrapv1beta1.KubeadmConfigTemplate)
		t = &bootstrapv1.KubeadmConfigTemplate{}
		if err := bootstrapv1beta1.Convert_v1beta1_KubeadmConfigTemplate_To_v1beta2_KubeadmConfigTemplate(old, t, nil); err != nil {
			return nil, cannotConvert(err)
		}
		convertTimeouts(&old.Spec.Template.Spec, &t.Spec.Template.Spec)
	}
	path := field.NewPath("spec", "template")
	errs := t.Spec.Template.ObjectMeta.Validate(path.Child("metadata"))
	spec := &t.Spec.Template.Spec
	return kubeadmManifest(spec, path.Child("spec")), append(errs, validateKubeadmConfig(spec, path.Child("spec"))...)
}

// validateKubeadmConfig keeps the rules that hold for every KubeadmConfigSpec.
// Contents and passwords never show in its errors.
func validateKubeadmConfig(c *bootstrapv1.KubeadmConfigSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Format == bootstrapv1.Ignition {
		errs = append(errs, validateIgnition(c, path)...)
	} else if c.Ignition.IsDefined() {
		errs = append(errs, field.Forbidden(path.Child("ignition"), "needs format: ignition"))
	}
	paths := map[string]bool{}
	for i, f := range c.Files {
		p := path.Child("files").Index(i)
		if f.Path == "" {
			errs = append(errs, field.Required(p.Child("path"), ""))
		}
		if paths[f.Path] && f.Path != "" {
			errs = append(errs, field.Duplicate(p.Child("path"), f.Path))
		}
		paths[f.Path] = true
		errs = append(errs, validateSource(f.Content != "", f.ContentFrom.IsDefined(), "content",
			f.ContentFrom.Secret.Name, f.ContentFrom.Secret.Key, p)...)
	}
	for i, u := range c.Users {
		p := path.Child("users").Index(i)
		if u.Name == "" {
			errs = append(errs, field.Required(p.Child("name"), ""))
		}
		errs = append(errs, validateSource(u.Passwd != "", u.PasswdFrom.IsDefined(), "passwd",
			u.PasswdFrom.Secret.Name, u.PasswdFrom.Secret.Key, p)...)
	}
	for i, partition := range c.DiskSetup.Partitions {
		sum := 0
		for _, l := range partition.DiskLayout {
			sum += int(l.Percentage)
		}
		if sum > 100 {
			errs = append(errs, field.Invalid(path.Child("diskSetup", "partitions").Index(i).Child("diskLayout"), sum, "percentages must not add up to more than 100"))
		}
	}
	if user := c.JoinConfiguration.Discovery.File.KubeConfig.User; user.AuthProvider.IsDefined() && user.Exec.IsDefined() {
		errs = append(errs, field.Forbidden(path.Child("joinConfiguration", "discovery", "file", "kubeConfig", "user"), "only one of authProvider and exec may be set"))
	}
	return errs
}

// validateIgnition keeps the rules for what Ignition cannot express.
func validateIgnition(c *bootstrapv1.KubeadmConfigSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if add := c.Ignition.ContainerLinuxConfig.AdditionalConfig; len(add) > 32768 {
		errs = append(errs, field.TooLong(path.Child("ignition", "containerLinuxConfig", "additionalConfig"), "", 32768))
	}
	if len(c.BootCommands) > 0 {
		errs = append(errs, field.Forbidden(path.Child("bootCommands"), "Ignition has none: add a unit with ignition.containerLinuxConfig.additionalConfig"))
	}
	for i, u := range c.Users {
		if u.Inactive != nil && *u.Inactive {
			errs = append(errs, field.Forbidden(path.Child("users").Index(i).Child("inactive"), "Ignition cannot make an account inactive: run usermod in preKubeadmCommands"))
		}
	}
	disks := path.Child("diskSetup")
	for i, p := range c.DiskSetup.Partitions {
		at := disks.Child("partitions").Index(i)
		if p.TableType != "" && p.TableType != "gpt" {
			errs = append(errs, field.Invalid(at.Child("tableType"), p.TableType, "Ignition makes gpt tables alone"))
		}
		if len(p.DiskLayout) > 0 {
			errs = append(errs, field.Forbidden(at.Child("diskLayout"),
				"Ignition knows sizes in MiB and no percentages: use storage.disks of ignition.containerLinuxConfig.additionalConfig"))
		}
	}
	for i, f := range c.DiskSetup.Filesystems {
		at := disks.Child("filesystems").Index(i)
		if f.ReplaceFS != "" {
			errs = append(errs, field.Forbidden(at.Child("replaceFS"), "Ignition cannot do this: use overwrite"))
		}
		if f.Partition != "" {
			errs = append(errs, field.Forbidden(at.Child("partition"), "Ignition wants the partition itself as the device, like /dev/vdb1"))
		}
	}
	return errs
}

// validateSource checks a value that is written out or comes from a secret.
func validateSource(inline, from bool, name, secret, key string, path *field.Path) field.ErrorList {
	if !from {
		return nil
	}
	var errs field.ErrorList
	source := path.Child(name + "From")
	if inline {
		errs = append(errs, field.Forbidden(source, "only one of "+name+" and "+name+"From may be set"))
	}
	if secret == "" {
		errs = append(errs, field.Required(source.Child("secret", "name"), ""))
	}
	if key == "" {
		errs = append(errs, field.Required(source.Child("secret", "key"), ""))
	}
	return errs
}

// defaultCAValidityDays is how long Cluster API's CA certificates last.
const defaultCAValidityDays = 3650

// validateControlPlaneConfig keeps the rules for a KubeadmConfigSpec of a
// control plane.
func validateControlPlaneConfig(c *bootstrapv1.KubeadmConfigSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	cluster, clusterPath := c.ClusterConfiguration, path.Child("clusterConfiguration")
	for _, image := range []struct {
		tag  string
		path *field.Path
	}{
		{cluster.DNS.ImageTag, clusterPath.Child("dns", "imageTag")},
		{cluster.Etcd.Local.ImageTag, clusterPath.Child("etcd", "local", "imageTag")},
	} {
		if image.tag != "" && !isImageTag(image.tag) {
			errs = append(errs, field.Invalid(image.path, image.tag, "is not a tag of an image"))
		}
	}
	if tag := cluster.DNS.ImageTag; isImageTag(tag) && !isVersionTag(tag) {
		errs = append(errs, field.Invalid(clusterPath.Child("dns", "imageTag"), tag, `must be a version of CoreDNS such as "v1.12.0"`))
	}
	errs = append(errs, validateExternalEtcd(&cluster, clusterPath.Child("etcd"))...)
	for _, of := range []struct {
		envs *[]bootstrapv1.EnvVar
		path *field.Path
	}{
		{cluster.APIServer.ExtraEnvs, clusterPath.Child("apiServer")},
		{cluster.ControllerManager.ExtraEnvs, clusterPath.Child("controllerManager")},
		{cluster.Scheduler.ExtraEnvs, clusterPath.Child("scheduler")},
		{cluster.Etcd.Local.ExtraEnvs, clusterPath.Child("etcd", "local")},
	} {
		if of.envs != nil {
			errs = append(errs, validateEnvs(*of.envs, of.path.Child("extraEnvs"))...)
		}
	}
	ca := cluster.CACertificateValidityPeriodDays
	if ca == 0 {
		ca = defaultCAValidityDays
	}
	if days := cluster.CertificateValidityPeriodDays; days > ca {
		errs = append(errs, field.Invalid(clusterPath.Child("certificateValidityPeriodDays"), days,
			fmt.Sprintf("must not be longer than that of the CA certificates, %d", ca)))
	}
	before, after := c.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds, c.JoinConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds
	if (before == nil) != (after == nil) || before != nil && *before != *after {
		errs = append(errs, field.Forbidden(path.Child("joinConfiguration", "timeouts", "controlPlaneComponentHealthCheckSeconds"),
			"must be the same in initConfiguration and joinConfiguration"))
	}
	return errs
}

// validateEnvs checks the sources of the environment of a component. Its kubelet does not run a
// component otherwise.
// Source: Kubernetes, pkg/apis/core/validation, validateEnvVarValueFrom.
func validateEnvs(envs []bootstrapv1.EnvVar, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, e := range envs {
		from := e.ValueFrom
		if from == nil {
			continue
		}
		n, empty := 0, false
		for _, source := range reflect.ValueOf(*from).Fields() {
			if !source.IsNil() {
				n, empty = n+1, empty || source.Elem().IsZero()
			}
		}
		at := path.Index(i).Child("valueFrom")
		switch {
		case n != 1 || empty:
			errs = append(errs, field.Forbidden(at, "must have exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef, with its fields"))
		case e.Value != "":
			errs = append(errs, field.Forbidden(at, "only one of value and valueFrom may be set"))
		}
	}
	return errs
}

// validateExternalEtcd checks what is said of an etcd that runs elsewhere.
func validateExternalEtcd(c *bootstrapv1.ClusterConfiguration, path *field.Path) field.ErrorList {
	external := c.Etcd.External
	if !external.IsDefined() {
		return nil
	}
	var errs field.ErrorList
	path = path.Child("external")
	if c.Etcd.Local.IsDefined() {
		errs = append(errs, field.Forbidden(path, "only one of local and external may be set"))
	}
	if len(external.Endpoints) == 0 {
		errs = append(errs, field.Required(path.Child("endpoints"), "such as https://10.0.0.5:2379"))
	}
	for i, e := range external.Endpoints {
		if u, err := url.Parse(e); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
			errs = append(errs, field.Invalid(path.Child("endpoints").Index(i), e, "must be a URL such as https://10.0.0.5:2379"))
		}
	}
	for _, f := range []struct{ name, path string }{{"caFile", external.CAFile}, {"certFile", external.CertFile}, {"keyFile", external.KeyFile}} {
		if !strings.HasPrefix(f.path, "/") {
			errs = append(errs, field.Invalid(path.Child(f.name), f.path, "must be the absolute path on the machine where the file of the Secret is put"))
		}
	}
	return errs
}

// isImageTag reports whether s may be the tag of a container image.
// Source: OCI distribution specification, "Pulling manifests".
func isImageTag(s string) bool {
	const word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return s != "" && len(s) <= 128 && strings.TrimLeft(s, word+".-") == "" && strings.Contains(word, s[:1])
}

// isVersionTag reports whether the tag of an image is a version, of which the last parts may
// be missing.
// Source: Cluster API, webhook of KubeadmControlPlane.
func isVersionTag(s string) bool {
	return regexp.MustCompile(`^v?[0-9]+(\.[0-9]+(\.[0-9]+([-+_].+)?)?)?$`).MatchString(s)
}
