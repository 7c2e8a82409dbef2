// sRGB's transfer function (IEC 61966-2-1), both ways, on codes 0...255. Y'CbCr values outside R'G'B' continue along
// the curve above 255 and along the straight part below 0.

// x^2.4 is x^2 times a polynomial in the fourth root of x, fitted where codes lie on the curve, -45...485: its relative
// error is below 6e-6, and it takes a third of the time of pow() in software renderers.
vec4 lightFromCodes(vec4 codes) {
  vec4 value = codes / 255.0;
  vec4 x = (max(value, 0.0) + 0.055) / 1.055;
  vec4 root = sqrt(x);
  vec4 fourth = sqrt(root);
  vec4 power = 0.8786790 * root + 0.3133561 * fourth - 0.2047683 * root * fourth + 0.0358769 * x - 0.0231423;
  return 255.0 * mix(x * x * power, value / 12.92, vec4(lessThanEqual(value, vec4(0.04045))));
}

vec4 codesFromLight(vec4 light) {
  vec4 value = light / 255.0;
  vec4 curve = 1.055 * pow(max(value, 0.0031308), vec4(1.0 / 2.4)) - 0.055;
  return 255.0 * mix(curve, value * 12.92, vec4(lessThanEqual(value, vec4(0.0031308))));
}
