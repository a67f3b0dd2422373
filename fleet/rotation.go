package fleet

import (
	"fmt"
	"strings"
	"time"
)

// A Rotation is one thing of a cluster's trust that can be made anew while the
// cluster runs.
type Rotation string

// The rotations.
const (
	// RotateCertificates has the certificates that kubeadm makes on control-plane
	// machines made anew, by replacing these machines. Those of kubelets renew
	// themselves.
	RotateCertificates Rotation = "certificates"
	// RotateServiceAccount has the key made anew that signs the tokens of service
	// accounts, in stages.
	RotateServiceAccount Rotation = "service-account"
	// RotateEtcdCA has the authority of etcd made anew, in stages.
	RotateEtcdCA Rotation = "etcd-ca"
)

// Rotations returns all rotations, in the order in which they are granted.
func Rotations() []Rotation {
	return []Rotation{RotateCertificates, RotateServiceAccount, RotateEtcdCA}
}

// RotateAnnotation returns the annotation of a Cluster that asks for r: any new
// value is a new wish.
func RotateAnnotation(r Rotation) string { return "fairlead.dev/rotate-" + string(r) }

// Authority returns the secret that r makes anew; empty for one that makes none.
func (r Rotation) Authority() SecretName {
	switch r {
	case RotateServiceAccount:
		return ServiceAccount
	case RotateEtcdCA:
		return EtcdCA
	}
	return ""
}

// A RotationStage is how far the rotation of an authority is. Each is reached by
// a change of the secret, and is over once every machine that trusts the
// authority was made from it.
type RotationStage string

// The stages, in their order: so at every time whoever signs is trusted by all.
const (
	RotationTrust RotationStage = "Trust" // the old signs, both are trusted
	RotationSign  RotationStage = "Sign"  // the new signs, both are trusted
	RotationDone  RotationStage = "Done"  // the new signs, and it alone is trusted
)

// Next returns the stage after s, of a rotation that is under way.
func (s RotationStage) Next() RotationStage {
	switch s {
	case RotationTrust:
		return RotationSign
	case RotationSign:
		return RotationDone
	}
	return RotationTrust
}

// The keys in the SecretData of an authority that was ever rotated. The new one
// stands beside the old until it signs.
const (
	RotationKey = "rotation" // a RotationState
	NextCertKey = "next.crt"
	NextKeyKey  = "next.key"
)

// A RotationState is what the secret of an authority tells of its rotation; zero:
// it never was rotated.
type RotationState struct {
	Wish  string // the mark of the wish that it grants, or granted last
	Stage RotationStage
	Since time.Time // when the stage was reached
}

// UnderWay reports whether a rotation has begun and is not over.
func (s RotationState) UnderWay() bool { return s.Stage == RotationTrust || s.Stage == RotationSign }

// String returns what ParseRotationState reads.
func (s RotationState) String() string {
	return fmt.Sprintf("%s,%s,%s", s.Wish, s.Stage, s.Since.UTC().Format(time.RFC3339))
}

// ParseRotationState reads what String wrote. What is damaged is none.
func ParseRotationState(text string) RotationState {
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return RotationState{}
	}
	at, err := time.Parse(time.RFC3339, parts[2])
	s := RotationState{Wish: parts[0], Stage: RotationStage(parts[1]), Since: at}
	if err != nil || s.Stage != RotationDone && !s.UnderWay() {
		return RotationState{}
	}
	return s
}

// RotationOf returns what the secret d of an authority tells of its rotation.
func RotationOf(d SecretData) RotationState {
	return ParseRotationState(string(d[RotationKey].Reveal()))
}

// AuthorityMark identifies what machines trust of the authority d; empty where it
// never was rotated, so that machines from before it can be told are as good.
func AuthorityMark(d SecretData) string {
	if RotationOf(d) == (RotationState{}) {
		return ""
	}
	return TrustMark(d[TLSCertKey].Reveal())
}

// Trust returns what of the cluster's trust a machine of role is made with, where
// authorities have these marks.
func (c *Cluster) Trust(role Role, authorities map[SecretName]string) Trust {
	if role != RoleControlPlane {
		return ""
	}
	marks := make(map[string]string)
	for _, r := range Rotations() {
		if name := r.Authority(); name != "" {
			marks[string(r)] = authorities[name]
		} else if value := c.Rotate[r]; value != "" {
			marks[string(r)] = TrustMark([]byte(value))
		}
	}
	return NewTrust(marks)
}
