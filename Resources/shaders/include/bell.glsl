// The quadratic B-spline at a distance from its centre.
vec4 bell(vec4 distance) {
  vec4 near = abs(distance);
  vec4 tail = max(1.5 - near, 0.0);
  return mix(0.5 * tail * tail, 0.75 - near * near, vec4(lessThan(near, vec4(0.5))));
}
