package eks

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/cloudinit"
	"fairlead.dev/providers/distribution/rancher"
	"fairlead.dev/providers/kinds"
)

const (
	name           = "eks"
	configKind     = "NodeadmConfig"
	bootstrapGroup = "bootstrap.cluster.x-k8s.io"
)

// Kinds returns the kinds of bootstrap configurations of machines that join a control plane of EKS.
func Kinds() []fleet.Kind {
	const version = "v1beta2"
	return []fleet.Kind{
		kind(fleet.Kind{Role: fleet.BootstrapConfigKind, Kind: configKind}, "spec.", kinds.Objects(normalise, version)),
		kind(fleet.Kind{Role: fleet.BootstrapConfigTemplateKind, Kind: configKind + "Template"}, "spec.template.spec.", kinds.BareTemplates(normalise, version)),
	}
}

// kind completes k, whose configuration is at prefix.
func kind(k fleet.Kind, prefix string, versions ...kinds.Version) fleet.Kind {
	const readable = "any Pod may read the user data of an instance: put it into the image, or have preNodeadmCommands fetch it with the role of the instance"
	k.Distribution, k.Group = name, bootstrapGroup
	k.Refused = map[string]string{prefix + "files.contentFrom": readable, prefix + "users.passwdFrom": readable}
	k.Limited = map[string]string{
		prefix + "kubelet.flags":  "each is --name=value; nodeadm sets the provider id, the name of the Node and its addresses",
		prefix + "kubelet.config": "what nodeadm does not set itself",
	}
	k.Values = map[string][]string{prefix + "files.encoding": {"base64", "gzip", "gzip+base64"}}
	return kinds.Of(k, versions...)
}

// normalise is a kinds.Normaliser.
func normalise(_ metav1.Object, at *field.Path, s *spec) (any, field.ErrorList) {
	plain := *s
	rancher.WithoutEmptyLists(reflect.ValueOf(&plain).Elem())
	return &fleet.BootstrapManifest{Kind: configKind, Path: at.String(), Spec: plain}, validate(at, s)
}

// ofNodeadm are the flags of kubelets that nodeadm finds out by itself.
func ofNodeadm() []string {
	return []string{"--provider-id", "--hostname-override", "--node-ip", "--cloud-provider", "--kubeconfig", "--bootstrap-kubeconfig", "--config"}
}

// validate says what is wrong with s. Content of files never shows in its errors.
func validate(at *field.Path, s *spec) field.ErrorList {
	var errs field.ErrorList
	files := make([]rancher.File, 0, len(s.Files))
	for i, f := range s.Files {
		files = append(files, rancher.File{Path: f.Path})
		if err := cloudinit.CheckEncoding(f.Encoding, []byte(f.Content)); err != nil {
			errs = append(errs, field.Invalid(at.Child("files").Index(i).Child("content"), "", err.Error()))
		}
	}
	errs = append(errs, rancher.ValidateFiles(files, at.Child("files"))...)
	if k := s.Kubelet; k != nil {
		errs = append(errs, validateKubelet(at.Child("kubelet"), k)...)
	}
	for i, u := range s.Users {
		if u.Name == "" {
			errs = append(errs, field.Required(at.Child("users").Index(i).Child("name"), ""))
		}
	}
	if d := s.DiskSetup; d != nil {
		seen := make(map[string]bool)
		for i, p := range d.Partitions {
			below := at.Child("diskSetup", "partitions").Index(i).Child("device")
			if seen[p.Device] {
				errs = append(errs, field.Duplicate(below, p.Device))
			}
			seen[p.Device] = true
		}
	}
	return errs
}

func validateKubelet(at *field.Path, k *kubelet) field.ErrorList {
	var errs field.ErrorList
	for i, f := range k.Flags {
		below := at.Child("flags").Index(i)
		flag, value, _ := strings.Cut(f, "=")
		switch {
		case !strings.HasPrefix(f, "--") || strings.ContainsAny(f, " \t\n"):
			errs = append(errs, field.Invalid(below, f, "must be --name=value, without spaces"))
		case slices.Contains(ofNodeadm(), flag):
			errs = append(errs, field.Forbidden(below, "nodeadm sets "+flag+" by itself: leave it out"))
		case flag == labelsFlag && value != "":
			labels := strings.Split(value, ",")
			errs = append(errs, rancher.ValidateLabels(labels, below)...)
			for _, label := range labels {
				if key, _, _ := strings.Cut(label, "="); !maySet(key) {
					errs = append(errs, field.Invalid(below, label, "a kubelet does not start with this label: set it in metadata.labels of the template of the MachineDeployment"))
				}
			}
		case flag == taintsFlag && value != "":
			errs = append(errs, rancher.ValidateTaints(strings.Split(value, ","), below)...)
		}
	}
	if _, err := taintsIn(k.Config); err != nil {
		errs = append(errs, field.Invalid(at.Child("config", taintsField), "", err.Error()))
	}
	return errs
}

// maySet reports whether a kubelet starts with a label. Of those of Kubernetes it sets only some.
// Source: Kubernetes, k8s.io/kubelet/pkg/apis, IsKubeletLabel.
func maySet(label string) bool {
	space, _, ok := strings.Cut(label, "/")
	within := func(domain string) bool { return space == domain || strings.HasSuffix(space, "."+domain) }
	if !ok || !within("kubernetes.io") && !within("k8s.io") || within("kubelet.kubernetes.io") || within("node.kubernetes.io") {
		return true
	}
	return slices.Contains([]string{
		corev1.LabelHostname, corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelInstanceType,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, "beta.kubernetes.io/arch", "beta.kubernetes.io/os",
	}, label)
}
