package aws

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// The limits of user data: of an instance, and of a secret.
// Source: EC2 user guide, "Add user data"; Secrets Manager quotas.
const (
	largestUserData = 16384
	largestSecret   = 65536
)

// userDataKept is how long the user data of an instance is kept after its start: cloud-init reads it within
// minutes, and the join token in it ends, too.
const userDataKept = 30 * time.Minute

// LimitUserData refuses user data with which no instance can boot.
func LimitUserData(u providers.UserData) error {
	if u.Format == nodeadm {
		_, err := nodeadmData(u)
		return err
	}
	_, err := u.Fit(limitOf(u))
	return err
}

func limitOf(u providers.UserData) int {
	if u.Format == "ignition" {
		return largestUserData
	}
	return largestSecret
}

// A bootstrap is what an instance boots with: its user data, and what is stored for it.
type bootstrap struct {
	userData string // base64
	stored   []byte // empty: nothing is
	secret   string // the name of what is stored
}

// bootstrapOf returns what the machine of r boots with. Any pod may read the user data of an instance, so
// what has keys is stored in Secrets Manager, and the user data fetches it.
func bootstrapOf(v *view, spec *api.AWSMachineSpec, r providers.MachineRequest, op fleet.OperationID) (bootstrap, error) {
	if r.UserData.Format == nodeadm {
		data, err := nodeadmData(r.UserData)
		return bootstrap{userData: base64.StdEncoding.EncodeToString(data)}, err
	}
	if spec.CloudInit.InsecureSkipSecretsManager || r.UserData.Format == "ignition" {
		data, err := r.UserData.Fit(largestUserData)
		if err == nil && spec.UncompressedUserData && !bytes.Equal(data, r.UserData.Content.Reveal()) {
			err = fleet.Errorf(fleet.Invalid, "hand over the user data", "it has %d bytes and %d is the limit without compression (leave uncompressedUserData out)", len(r.UserData.Content.Reveal()), largestUserData)
		}
		return bootstrap{userData: base64.StdEncoding.EncodeToString(data)}, err
	}
	if _, err := r.UserData.Fit(largestSecret); err != nil {
		return bootstrap{}, err
	}
	stored, err := compressed(r.UserData.Content.Reveal())
	if err != nil {
		return bootstrap{}, err
	}
	if len(stored) > largestSecret {
		stored = r.UserData.Content.Reveal()
	}
	name := secretName(v, r, op)
	return bootstrap{userData: base64.StdEncoding.EncodeToString([]byte(fetch(name, v.spec.Region))), stored: stored, secret: name}, nil
}

// secretName is that of the secret of a machine. A later machine of that name has another: a name is not free at
// once.
func secretName(v *view, r providers.MachineRequest, op fleet.OperationID) string {
	return strings.Join([]string{
		"fairlead", string(v.owner.Fleet), v.owner.Cluster.Namespace, v.owner.Cluster.Name, string(r.Name),
		digest(string(op), r.Origin.Made.UTC().Format(time.RFC3339), strings.Join(v.formerOf(r.Name), " "))[:8],
	}, "/")
}

func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// fetch is user data that fetches the real one with the AWS CLI, by the rights of the instance, and has
// cloud-init read it.
// Source: CAPA, pkg/cloud/services/secretsmanager/secret_fetch_script.go.
func fetch(secret, region string) string {
	const boundary = "fairlead-user-data"
	script := fmt.Sprintf(`#cloud-boothook
#!/bin/bash
umask 077
data=/etc/fairlead-user-data
[ -s "$data" ] && exit 0
for i in $(seq 1 60); do
  if aws secretsmanager get-secret-value --region %q --secret-id %q --query SecretBinary --output text | base64 -d >"$data.part" && [ -s "$data.part" ]; then
    if gzip -t "$data.part" 2>/dev/null; then gzip -dc "$data.part" >"$data"; else cp "$data.part" "$data"; fi
    rm -f "$data.part"
    exit 0
  fi
  sleep 5
done
echo "fairlead: the user data in %s cannot be read: allow secretsmanager:GetSecretValue to the instance profile, and have the AWS CLI in the image" >/dev/console
exit 1
`, region, secret, secret)
	part := func(kind, text string) string {
		return "--" + boundary + "\nContent-Type: text/" + kind + "; charset=\"us-ascii\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: 7bit\n\n" + text + "\n"
	}
	return "Content-Type: multipart/mixed; boundary=\"" + boundary + "\"\nMIME-Version: 1.0\n\n" +
		part("cloud-boothook", script) + part("x-include-url", "#include\nfile:///etc/fairlead-user-data\n") + "--" + boundary + "--\n"
}

// secretsOf returns what is stored for a machine.
func (v *view) secretsOf(name fleet.MachineName) []cloud.Secret {
	var out []cloud.Secret
	for _, s := range v.secrets {
		if s.Tags[fleet.TagMachine] == string(name) {
			out = append(out, s)
		}
	}
	return out
}

// dropSecrets deletes what is stored for a machine.
func (v *view) dropSecrets(ctx context.Context, name fleet.MachineName) error {
	for _, s := range v.secretsOf(name) {
		if err := v.place.DeleteSecret(ctx, s.ID); err != nil {
			return err
		}
	}
	return nil
}

// cleaning returns the steps that delete what is stored and no machine needs any more: of one that is gone, or
// that has run long enough.
func (v *view) cleaning() []steps.Step {
	var out []steps.Step
	uncertain := slices.ContainsFunc(v.machines(), func(m fleet.Machine) bool { return m.Damaged != "" })
	for _, s := range v.secrets {
		name := fleet.MachineName(s.Tags[fleet.TagMachine])
		why := "left over of " + string(name) + ": secret " + s.Name
		late := v.s.Began.Sub(s.Created) > v.p.o.Settle && !uncertain // or it may be of one of these
		for _, i := range v.instances {
			if i.Tags[fleet.TagMachine] != string(name) {
				continue
			}
			why = "user data of " + string(name) + ", which runs: secret " + s.Name
			late = i.State == "shutting-down" || v.s.Began.Sub(i.Launched) > userDataKept
		}
		if !late {
			continue
		}
		out = append(out, steps.Step{What: why, Upkeep: true, Do: func(ctx context.Context) error {
			return v.p.Try(v.owner.Part(name), func() error { // one that is being made needs it
				if runs, err := v.runs(ctx, name); err != nil || runs {
					return err
				}
				defer v.changed()
				return v.place.DeleteSecret(ctx, s.ID)
			})
		}})
	}
	return out
}

// runs reports whether an instance of a machine is there that lost its tags: its network interface has them, too.
func (v *view) runs(ctx context.Context, name fleet.MachineName) (bool, error) {
	if slices.ContainsFunc(v.instances, func(i cloud.Instance) bool { return i.Tags[fleet.TagMachine] == string(name) }) {
		return false, nil
	}
	found, err := v.place.Interfaces(ctx, "tag:"+fleet.TagFleet, string(v.owner.Fleet), "tag:"+fleet.TagCluster, v.owner.Cluster.String(), "tag:"+fleet.TagMachine, string(name))
	return len(found) > 0, err
}
