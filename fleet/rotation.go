package fleet

// A Rotation is one thing of a cluster's trust that can be made anew while the
// cluster runs.
type Rotation string

// The rotations.
const (
	// RotateCertificates has the certificates that kubeadm makes on control-plane
	// machines made anew, by replacing these machines. Those of kubelets renew
	// themselves.
	RotateCertificates Rotation = "certificates"
)

// RotateAnnotation returns the annotation of a Cluster that asks for r: any new
// value is a new wish.
func RotateAnnotation(r Rotation) string { return "fairlead.dev/rotate-" + string(r) }

// Rotations returns all rotations.
func Rotations() []Rotation { return []Rotation{RotateCertificates} }

// Trust returns what of the cluster's trust a machine of role is made with now.
func (c *Cluster) Trust(role Role) Trust {
	marks := make(map[string]string)
	if value := c.Rotate[RotateCertificates]; value != "" && role == RoleControlPlane {
		marks[string(RotateCertificates)] = TrustMark([]byte(value))
	}
	return NewTrust(marks)
}
