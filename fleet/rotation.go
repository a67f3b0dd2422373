package fleet

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Rotation is one thing of a cluster's trust that can be replaced while the
// cluster runs.
type Rotation string

// The rotations.
const (
	// RotateCertificates has the certificates that kubeadm makes on control-plane
	// machines renewed, by replacing these machines. Those of kubelets renew
	// themselves.
	RotateCertificates Rotation = "certificates"
	// RotateServiceAccount has the key replaced that signs the tokens of service
	// accounts, in stages.
	RotateServiceAccount Rotation = "service-account"
	// RotateEtcdCA has the CA of etcd replaced, in stages.
	RotateEtcdCA Rotation = "etcd-ca"
	// RotateCA has the CA of the cluster itself replaced, in stages.
	RotateCA Rotation = "ca"
)

// Rotations returns all rotations, in the order in which they are granted.
func Rotations() []Rotation {
	return []Rotation{RotateCertificates, RotateServiceAccount, RotateEtcdCA, RotateCA}
}

// RotateAnnotation returns the annotation of a Cluster that asks for r: any new
// value is a new request.
func RotateAnnotation(r Rotation) string { return "fairlead.dev/rotate-" + string(r) }

// Authority returns the secret that r replaces; empty if r replaces none.
func (r Rotation) Authority() SecretName {
	switch r {
	case RotateServiceAccount:
		return ServiceAccount
	case RotateEtcdCA:
		return EtcdCA
	case RotateCA:
		return ClusterCA
	}
	return ""
}

// A RotationStage is how far the rotation of an authority is. Each is reached by
// a change of the secret, and is over once every machine that trusts the
// authority was made from it.
type RotationStage string

// The stages, in their order: so at every time the signing key is trusted by all.
const (
	RotationTrust RotationStage = "Trust" // the old signs, both are trusted
	// RotationSpread changes nothing but that the control plane is made once more:
	// what runs there learns at its start what to trust, and not all of it started
	// when there were two.
	RotationSpread RotationStage = "Spread"
	RotationSign   RotationStage = "Sign" // the new signs, both are trusted
	// RotationHold changes nothing: from its begin on, nothing signs with
	// the old.
	RotationHold RotationStage = "Hold"
	RotationDone RotationStage = "Done" // the new signs, and it alone is trusted
)

// stagesOf returns the stages that an authority goes through; ClusterCA has them
// all. Only what outlives the machine that it was signed on needs RotationHold:
// tokens, and the certificates of kubelets.
func stagesOf(name SecretName) []RotationStage {
	switch name {
	case ServiceAccount:
		return []RotationStage{RotationTrust, RotationSign, RotationHold, RotationDone}
	case EtcdCA:
		return []RotationStage{RotationTrust, RotationSign, RotationDone}
	case ClusterCA:
		return []RotationStage{RotationTrust, RotationSpread, RotationSign, RotationHold, RotationDone}
	}
	return nil
}

// Next returns the stage after s of the rotation of the authority called name.
// After the last, and where s is none of its stages, that is the first.
func (s RotationStage) Next(name SecretName) RotationStage {
	stages := stagesOf(name)
	if len(stages) == 0 {
		return RotationTrust
	}
	return stages[(slices.Index(stages, s)+1)%len(stages)]
}

// The keys in the SecretData of an authority that was ever rotated. The new one
// stands beside the old until it signs. CrossCertKey is of ClusterCA alone: the
// old CA certificate as the new one signed it. With it, what trusts
// the new alone trusts what the old one signed.
const (
	RotationKey  = "rotation" // a RotationState
	NextCertKey  = "next.crt"
	NextKeyKey   = "next.key"
	CrossCertKey = "cross.crt"
)

// A RotationState is what the secret of an authority tells of its rotation; zero:
// it never was rotated.
type RotationState struct {
	Wish  string // the checksum of the request that it grants, or granted last
	Stage RotationStage
	Since time.Time // when the stage was reached
}

// UnderWay reports whether a rotation has begun and is not over.
func (s RotationState) UnderWay() bool { return s.Stage != "" && s.Stage != RotationDone }

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
	if err != nil || !slices.Contains(stagesOf(ClusterCA), s.Stage) {
		return RotationState{}
	}
	return s
}

// RotationOf returns what the secret d of an authority tells of its rotation.
func RotationOf(d SecretData) RotationState {
	return ParseRotationState(string(d[RotationKey].Reveal()))
}

// AuthorityChecksum identifies what machines are made with of the authority d; empty
// where it never was rotated, so that machines from before it can be told are as
// good. Of the authority of the cluster, d of ClusterCA, it is MARK.SIGNER: the
// first of what is trusted alone, the second of who signs, too.
func AuthorityChecksum(name SecretName, d SecretData) string {
	state, trusted := RotationOf(d), d[TLSCertKey].Reveal()
	switch {
	case state == (RotationState{}):
		return ""
	case name != ClusterCA:
		return TrustChecksum(trusted)
	}
	certs := strings.SplitAfter(strings.TrimSpace(string(trusted))+"\n", endOfCertificate)
	slices.Sort(certs)
	signer := TrustChecksum(trusted)
	if state.Stage == RotationSpread {
		signer = TrustChecksum(append(bytes.Clone(trusted), RotationSpread...))
	}
	return TrustChecksum([]byte(strings.Join(certs, ""))) + "." + signer
}

const endOfCertificate = "-----END CERTIFICATE-----\n"

// Trust returns what of the cluster's trust a machine of role is made with, if
// CA certificates have these checksums. A worker knows only the CA of the
// cluster and its certificates.
func (c *Cluster) Trust(role Role, authorities map[SecretName]string) Trust {
	checksums := make(map[string]string)
	for _, r := range Rotations() {
		name := r.Authority()
		switch value := c.Rotate[r]; {
		case role != RoleControlPlane && r != RotateCA:
		case name == "" && value != "":
			checksums[string(r)] = TrustChecksum([]byte(value))
		case role != RoleControlPlane:
			checksums[string(r)], _, _ = strings.Cut(authorities[name], ".")
		case name != "":
			checksums[string(r)] = authorities[name]
		}
	}
	return NewTrust(checksums)
}
