// Package pivot tests moves of a fleet end to end: an agent with a folder of
// secrets, a real kube-apiserver that Helm installs the chart into, and the
// program, run as the chart's Deployment has it and with the rights of its
// service account. The test is the kubelet.
package pivot
