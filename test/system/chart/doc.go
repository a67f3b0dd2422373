// Package chart tries the Helm chart and the image in their real use: installed
// by helm into a real Kubernetes API, the agent run as the container would run
// it, with the rights that the chart gives it and no others.
package chart
