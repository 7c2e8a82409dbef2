// sRGB's transfer function (IEC 61966-2-1), both ways, on codes 0...255. Y'CbCr values outside R'G'B' continue along
// the curve above 255 and along the straight part below 0.

vec3 lightFromCodes(vec3 codes) {
  vec3 value = codes / 255.0;
  vec3 curve = pow((max(value, 0.0) + 0.055) / 1.055, vec3(2.4));
  return 255.0 * mix(curve, value / 12.92, vec3(lessThanEqual(value, vec3(0.04045))));
}

vec3 codesFromLight(vec3 light) {
  vec3 value = light / 255.0;
  vec3 curve = 1.055 * pow(max(value, 0.0031308), vec3(1.0 / 2.4)) - 0.055;
  return 255.0 * mix(curve, value * 12.92, vec3(lessThanEqual(value, vec3(0.0031308))));
}
