#ifdef COMPUTES
// The place of the invocation, which may be beyond what is drawn.
layout(local_size_x = 16, local_size_y = 8) in;
uniform ivec2 drawnSize;
ivec2 drawnPlace() { return ivec2(gl_GlobalInvocationID.xy); }
bool isBeyond(ivec2 place) { return any(greaterThanEqual(place, drawnSize)); }
#else
// The texel that is drawn. All of gl_FragCoord is read, so that llvmpipe compiles one set-up for all shaders: z is 0.5 and
// w is 1, which add nothing.
ivec2 drawnPlace() { return ivec2(gl_FragCoord.xy + min(gl_FragCoord.zw, vec2(0.0))); }
bool isBeyond(ivec2 place) { return false; }
#endif
