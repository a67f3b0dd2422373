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
	if u.Format == "ignition" { // a bucket holds more than anybody writes
		return nil
	}
	_, err := u.Fit(largestSecret)
	return err
}

// A bootstrap is what an instance boots with: its user data, and what is stored for it.
type bootstrap struct {
	userData string // base64
	stored   []byte // empty: nothing is
	store    cloud.Store
	secret   string // the name of what is stored
}

// storeOf returns where the user data of machines of a template is kept; empty: it is that of their instances.
func storeOf(cluster *api.AWSClusterSpec, spec *api.AWSMachineSpec, ignition bool) (cloud.Store, error) {
	switch {
	case ignition && spec.Ignition != nil && spec.Ignition.StorageType == api.ClusterObjectStore:
		if cluster.S3Bucket == nil {
			return "", fleet.Errorf(fleet.Invalid, "store the user data", "the AWSCluster has no s3Bucket (add it, or set ignition.storageType: %s)", api.UnencryptedUserData)
		}
		return cloud.BucketStore(cluster.S3Bucket.Name), nil
	case ignition, spec.CloudInit.InsecureSkipSecretsManager:
		return "", nil
	case spec.CloudInit.SecureSecretsBackend == string(cloud.ParameterStore):
		return cloud.ParameterStore, nil
	}
	return cloud.SecretsManager, nil
}

// bootstrap returns what the machine of r boots with. Any pod may read the user data of an instance, so
// what has keys is stored, and the user data fetches it.
func (v *view) bootstrap(ctx context.Context, spec *api.AWSMachineSpec, r providers.MachineRequest, op fleet.OperationID) (bootstrap, error) {
	if r.UserData.Format == nodeadm {
		data, err := nodeadmData(r.UserData)
		return bootstrap{userData: base64.StdEncoding.EncodeToString(data)}, err
	}
	store, err := storeOf(v.spec, spec, r.UserData.Format == "ignition")
	switch {
	case err != nil:
		return bootstrap{}, err
	case store != "" && store == v.bucketOfOthers():
		return bootstrap{}, v.noBucket
	case store == "":
		data, err := r.UserData.Fit(largestUserData)
		if err == nil && spec.UncompressedUserData && !bytes.Equal(data, r.UserData.Content.Reveal()) {
			err = fleet.Errorf(fleet.Invalid, "hand over the user data", "it has %d bytes and %d is the limit without compression (leave uncompressedUserData out)", len(r.UserData.Content.Reveal()), largestUserData)
		}
		return bootstrap{userData: base64.StdEncoding.EncodeToString(data)}, err
	case r.UserData.Format == "ignition":
		return v.ignite(ctx, spec, r, op, store)
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
	name := v.pathOfUserData() + strings.Join([]string{string(r.Name), v.suffixOf(r, op)}, "/")
	return bootstrap{userData: base64.StdEncoding.EncodeToString([]byte(fetch(store, name, v.spec.Region))), stored: stored, store: store, secret: name}, nil
}

// pathOfUserData begins the names of what is stored for machines of the cluster.
func (v *view) pathOfUserData() string {
	return pathOf(v.owner.Fleet) + v.owner.Cluster.Namespace + "/" + v.owner.Cluster.Name + "/"
}

// pathOf begins the names of what is stored for machines of a fleet.
func pathOf(id fleet.ID) string { return "fairlead/" + string(id) + "/" }

// suffixOf ends the name of what is stored for a machine. A later machine of that name has another: a name is not free at
// once.
func (v *view) suffixOf(r providers.MachineRequest, op fleet.OperationID) string {
	return digest(string(op), r.Origin.Made.UTC().Format(time.RFC3339), strings.Join(v.formerOf(r.Name), " "))[:8]
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
func fetch(store cloud.Store, name, region string) string {
	const boundary = "fairlead-user-data"
	right, get := "secretsmanager:GetSecretValue", fmt.Sprintf(`aws secretsmanager get-secret-value --region %q --secret-id %q --query SecretBinary --output text`, region, name)
	read := "read_all() { " + get + "; }"
	if store == cloud.ParameterStore { // the first parameter says how many there are
		right, get = "ssm:GetParameter", fmt.Sprintf(`aws ssm get-parameter --region %q --name "/%s/$1" --with-decryption --query Parameter.Value --output text`, region, name)
		read = "read_one() { " + get + `; }
read_all() {
  first=$(read_one 0) || return 1
  printf %s "${first#* }"
  for n in $(seq 1 $((${first%% *} - 1))); do
    more=$(read_one "$n") || return 1
    printf %s "$more"
  done
}`
	}
	script := fmt.Sprintf(`#cloud-boothook
#!/bin/bash
umask 077
set -o pipefail
data=/etc/fairlead-user-data
%s
[ -s "$data" ] && exit 0
for i in $(seq 1 60); do
  if read_all | base64 -d >"$data.part" && [ -s "$data.part" ]; then
    if gzip -t "$data.part" 2>/dev/null; then gzip -dc "$data.part" >"$data"; else cp "$data.part" "$data"; fi
    rm -f "$data.part"
    exit 0
  fi
  sleep 5
done
echo "fairlead: the user data in %s cannot be read: allow %s to the instance profile, and have the AWS CLI in the image" >/dev/console
exit 1
`, read, name, right)
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
		if err := v.drop(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// dropStored deletes what was just stored for a machine that is not made.
func (v *view) dropStored(ctx context.Context, boot bootstrap) error {
	var errs []error
	for _, s := range cloud.Kept(boot.store, boot.secret, boot.stored) { // no listing shows it yet
		errs = append(errs, cloud.Wrap("delete secret "+s.Name, v.drop(ctx, s)))
	}
	return fleet.JoinErrors(errs...)
}

// hasToGo reports whether what is stored may not stay: with bestEffortDeleteObjects, an object may.
func (v *view) hasToGo(s cloud.Secret) bool {
	b := v.spec.S3Bucket
	return b == nil || !b.BestEffortDeleteObjects || s.Store != cloud.BucketStore(b.Name)
}

// drop deletes what is stored. What may stay does, if the agent has no right to delete it.
func (v *view) drop(ctx context.Context, s cloud.Secret) error {
	err := v.place.Drop(ctx, s)
	if !v.hasToGo(s) && cloud.Kind(err) == fleet.Unauthorized {
		return nil
	}
	return err
}

// usesParameters reports whether templates keep user data in parameters of SSM.
func usesParameters(c *fleet.Cluster) bool {
	return slices.ContainsFunc(c.Pools(), func(p fleet.Pool) bool {
		spec, err := api.ReadMachine(p.Infrastructure)
		return err == nil && spec.CloudInit.SecureSecretsBackend == string(cloud.ParameterStore)
	})
}

// lookAtStores finds what is stored for machines elsewhere than in Secrets Manager: where templates say, and where instances
// that are there have it.
func (v *view) lookAtStores(ctx context.Context) error {
	var stores []cloud.Store
	if v.spec.S3Bucket != nil {
		stores = append(stores, cloud.BucketStore(v.spec.S3Bucket.Name))
	}
	if usesParameters(v.c) {
		stores = append(stores, cloud.ParameterStore)
	}
	for _, i := range slices.Concat(v.instances, v.ended) {
		if s := i.Tags[storeTag]; s != "" {
			stores = append(stores, cloud.Store(s))
		}
	}
	slices.Sort(stores)
	path := v.pathOfUserData()
	for _, s := range slices.Compact(stores) {
		if s == v.bucketOfOthers() {
			continue
		}
		found, err := v.place.Stored(ctx, s, path)
		if kind := cloud.Kind(err); !v.c.Delete && (kind == fleet.Unauthorized || kind == fleet.Invalid) {
			v.unlisted = append(v.unlisted, cloud.WrapLook("list the user data in "+string(s), err))
			continue
		}
		if err != nil {
			return err
		}
		for _, one := range found {
			machine := strings.TrimPrefix(one.Name, path)
			if s != cloud.ParameterStore {
				_, machine, _ = strings.Cut(machine, "/") // after its role
			}
			machine, _, _ = strings.Cut(machine, "/")
			one.Tags = cloud.Tags{fleet.TagMachine: machine}
			v.secrets = append(v.secrets, one)
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
				return v.drop(ctx, s)
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
