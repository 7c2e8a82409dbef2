// The texel that is drawn. All of gl_FragCoord is read, so that llvmpipe compiles one set-up for all shaders: z is 0.5 and
// w is 1, which add nothing.
ivec2 drawnPlace() { return ivec2(gl_FragCoord.xy + min(gl_FragCoord.zw, vec2(0.0))); }
