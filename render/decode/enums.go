package decode

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// enums returns the values that an API server would accept for a type: the
// enums of Cluster API's schemas.
func enums() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[bootstrapv1.Encoding]():                                  {"base64", "gzip", "gzip+base64"},
		reflect.TypeFor[bootstrapv1beta1.Encoding]():                             {"base64", "gzip", "gzip+base64"},
		reflect.TypeFor[bootstrapv1.Format]():                                    {"cloud-config", "ignition"},
		reflect.TypeFor[bootstrapv1beta1.Format]():                               {"cloud-config", "ignition"},
		reflect.TypeFor[bootstrapv1.FileContentFormat]():                         {"Raw", "Template"},
		reflect.TypeFor[bootstrapv1beta1.FileContentFormat]():                    {"Raw", "Template"},
		reflect.TypeFor[bootstrapv1.EncryptionAlgorithmType]():                   {"ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096"},
		reflect.TypeFor[bootstrapv1beta1.EncryptionAlgorithmType]():              {"ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096"},
		reflect.TypeFor[clusterv1.MachineDeploymentRolloutStrategyType]():        {"RollingUpdate", "OnDelete"},
		reflect.TypeFor[clusterv1beta1.MachineDeploymentStrategyType]():          {"RollingUpdate", "OnDelete"},
		reflect.TypeFor[clusterv1.MachineSetDeletionOrder]():                     {"Random", "Newest", "Oldest"},
		reflect.TypeFor[clusterv1.MachineDrainRuleDrainBehavior]():               {"Drain", "Skip", "WaitCompleted"},
		reflect.TypeFor[clusterv1beta1.MachineDrainRuleDrainBehavior]():          {"Drain", "Skip", "WaitCompleted"},
		reflect.TypeFor[clusterv1.ConditionPolarity]():                           {"Positive", "Negative"},
		reflect.TypeFor[clusterv1beta1.ConditionPolarity]():                      {"Positive", "Negative"},
		reflect.TypeFor[clusterv1.MachineTaintPropagation]():                     {"Always", "OnInitialization"},
		reflect.TypeFor[clusterv1beta1.MachineTaintPropagation]():                {"Always", "OnInitialization"},
		reflect.TypeFor[controlplanev1.KubeadmControlPlaneRolloutStrategyType](): {"RollingUpdate"},
		reflect.TypeFor[controlplanev1beta1.RolloutStrategyType]():               {"RollingUpdate"},
		reflect.TypeFor[clusterv1.FieldValueErrorReason]():                       {"FieldValueRequired", "FieldValueDuplicate", "FieldValueInvalid", "FieldValueForbidden"},
		reflect.TypeFor[clusterv1beta1.FieldValueErrorReason]():                  {"FieldValueRequired", "FieldValueDuplicate", "FieldValueInvalid", "FieldValueForbidden"},
		reflect.TypeFor[corev1.TaintEffect]():                                    {"NoSchedule", "PreferNoSchedule", "NoExecute"},
		reflect.TypeFor[corev1.PullPolicy]():                                     {"Always", "IfNotPresent", "Never"},
		reflect.TypeFor[metav1.ConditionStatus]():                                {"True", "False", "Unknown"},
		reflect.TypeFor[corev1.ConditionStatus]():                                {"True", "False", "Unknown"},
	}
}
