// sRGB's transfer function (IEC 61966-2-1), both ways, on codes 0...255. Y'CbCr values outside R'G'B' continue along
// the curve above 255 and along the straight part below 0.

vec4 lightFromCodes(vec4 codes) {
  vec4 value = codes / 255.0;
  vec4 curve = pow((max(value, 0.0) + 0.055) / 1.055, vec4(2.4));
  return 255.0 * mix(curve, value / 12.92, vec4(lessThanEqual(value, vec4(0.04045))));
}

vec4 codesFromLight(vec4 light) {
  vec4 value = light / 255.0;
  vec4 curve = 1.055 * pow(max(value, 0.0031308), vec4(1.0 / 2.4)) - 0.055;
  return 255.0 * mix(curve, value * 12.92, vec4(lessThanEqual(value, vec4(0.0031308))));
}
