"""What the rules can't say themselves: clock, lock, bytes of messages, the model. Native and in Python.

Every primitive is `f(x, ...)` on the loop's block. Addresses of outside functions and handles are words of the block, so
that the compiled loop holds none: it can be kept on disk, and tests put their own clock and their own messages there.
"""

# integer cells at x[WORDS...]
WORDS = ('clock_gettime', 'clock_nanosleep', 'take', 'publish', 'advance', 'pre', 'outputs', 'sched_setscheduler', 'epoch',
         'lock', 'priority', 'offset')
INFO = 16                    # doubles of room for a rmw_message_info_t: its second number is the time of reception, in ns
SLOT = 4                     # words per message: handle, address of its rcutils_uint8_array_t, template, mask
SIGNATURES = {
    'now': ('int',), 'wall': ('int',), 'sleep_until': ('void', 'int'), 'try_lock': ('int',), 'unlock': ('void',),
    'take': ('int',), 'waited': ('int',), 'publish': ('int', 'int'), 'get_byte': ('int', 'int', 'int'), 'put_byte': ('void', 'int', 'int', 'int'),
    'get_int': ('int', 'int', 'int'), 'put_int': ('void', 'int', 'int', 'int'), 'get_float': ('float', 'int', 'int'),
    'put_float': ('void', 'int', 'int', 'float'), 'get_word': ('int', 'int'), 'set_word': ('void', 'int', 'int'),
    'model_advance': ('int', 'float', 'int', 'int'), 'model_pre': ('void',), 'model_outputs': ('void',),
    'raise_priority': ('void',),
}
TAKE_FAILED = 401            # RCL_RET_SUBSCRIPTION_TAKE_FAILED: there was no message
MONOTONIC, REALTIME, ABSOLUTE, FIFO = 1, 0, 1, 1


def ir(words: int, info: int) -> str:
    """Return the primitives as LLVM IR; `words` and `info` are the indices in x of the first word and of the room for info."""
    at = {name.upper(): words + k for k, name in enumerate(WORDS)}
    return _IR.format(**at, SLOTS=words + len(WORDS), SLOT=SLOT, TAKE_FAILED=TAKE_FAILED, MONOTONIC=MONOTONIC, REALTIME=REALTIME,
                      ABSOLUTE=ABSOLUTE, FIFO=FIFO, INFO=info)


_IR = """
define internal i64 @word(ptr %x, i64 %k) alwaysinline {{
  %p = getelementptr i64, ptr %x, i64 %k
  %v = load i64, ptr %p, align 8
  ret i64 %v
}}
define internal ptr @pointer(ptr %x, i64 %k) alwaysinline {{
  %v = call i64 @word(ptr %x, i64 %k)
  %p = inttoptr i64 %v to ptr
  ret ptr %p
}}
define internal ptr @slot(ptr %x, i64 %s, i64 %k) alwaysinline {{
  %a = mul i64 %s, {SLOT}
  %b = add i64 %a, %k
  %c = add i64 %b, {SLOTS}
  %p = call ptr @pointer(ptr %x, i64 %c)
  ret ptr %p
}}
define internal i64 @time_of(ptr %x, i32 %clock) {{
  %t = alloca [2 x i64], align 8
  %f = call ptr @pointer(ptr %x, i64 {CLOCK_GETTIME})
  call i32 %f(i32 %clock, ptr %t)
  %s = load i64, ptr %t, align 8
  %np = getelementptr i64, ptr %t, i64 1
  %n = load i64, ptr %np, align 8
  %a = mul i64 %s, 1000000000
  %b = add i64 %a, %n
  ret i64 %b
}}
define internal i64 @now(ptr %x) {{
  %t = call i64 @time_of(ptr %x, i32 {MONOTONIC})
  %e = call i64 @word(ptr %x, i64 {EPOCH})
  %r = sub i64 %t, %e
  ret i64 %r
}}
define internal i64 @wall(ptr %x) {{
  %t = call i64 @time_of(ptr %x, i32 {REALTIME})
  ret i64 %t
}}
define internal void @sleep_until(ptr %x, i64 %due) {{
entry:
  %t = alloca [2 x i64], align 8
  %e = call i64 @word(ptr %x, i64 {EPOCH})
  %abs = add i64 %due, %e
  %s = udiv i64 %abs, 1000000000
  %n = urem i64 %abs, 1000000000
  store i64 %s, ptr %t, align 8
  %np = getelementptr i64, ptr %t, i64 1
  store i64 %n, ptr %np, align 8
  %f = call ptr @pointer(ptr %x, i64 {CLOCK_NANOSLEEP})
  br label %again
again:
  %r = call i32 %f(i32 {MONOTONIC}, i32 {ABSOLUTE}, ptr %t, ptr null)
  %interrupted = icmp eq i32 %r, 4
  br i1 %interrupted, label %again, label %done
done:
  ret void
}}
define internal i64 @try_lock(ptr %x) {{
  %p = getelementptr i64, ptr %x, i64 {LOCK}
  %r = cmpxchg ptr %p, i64 0, i64 1 seq_cst seq_cst
  %ok = extractvalue {{ i64, i1 }} %r, 1
  %v = zext i1 %ok to i64
  ret i64 %v
}}
define internal void @unlock(ptr %x) {{
  %p = getelementptr i64, ptr %x, i64 {LOCK}
  %r = atomicrmw xchg ptr %p, i64 0 seq_cst
  ret void
}}
define internal i64 @take(ptr %x) {{
entry:
  %handle = call ptr @slot(ptr %x, i64 0, i64 0)
  %message = call ptr @slot(ptr %x, i64 0, i64 1)
  %f = call ptr @pointer(ptr %x, i64 {TAKE})
  %info = getelementptr double, ptr %x, i64 {INFO}
  %r = call i32 %f(ptr %handle, ptr %message, ptr %info, ptr null)
  switch i32 %r, label %error [ i32 0, label %check i32 {TAKE_FAILED}, label %none ]
none:
  ret i64 0
error:
  ret i64 3
check:
  %template = call ptr @slot(ptr %x, i64 0, i64 2)
  %mask = call ptr @slot(ptr %x, i64 0, i64 3)
  %size = load i64, ptr %template, align 8
  %lp = getelementptr i64, ptr %message, i64 1
  %length = load i64, ptr %lp, align 8
  %same = icmp eq i64 %size, %length
  br i1 %same, label %compare, label %other
compare:
  %bytes = load ptr, ptr %message, align 8
  br label %each
each:
  %k = phi i64 [ 0, %compare ], [ %k1, %fine ]
  %more = icmp slt i64 %k, %length
  br i1 %more, label %look, label %good
look:
  %k8 = add i64 %k, 8
  %ap = getelementptr i8, ptr %bytes, i64 %k
  %bp = getelementptr i8, ptr %template, i64 %k8
  %mp = getelementptr i8, ptr %mask, i64 %k
  %a = load i8, ptr %ap, align 1
  %b = load i8, ptr %bp, align 1
  %m = load i8, ptr %mp, align 1
  %d = xor i8 %a, %b
  %e = and i8 %d, %m
  %equal = icmp eq i8 %e, 0
  br i1 %equal, label %fine, label %other
fine:
  %k1 = add i64 %k, 1
  br label %each
good:
  ret i64 1
other:
  ret i64 2
}}
define internal i64 @waited(ptr %x) {{
  %at = add i64 {INFO}, 1
  %came = call i64 @word(ptr %x, i64 %at)
  %t = call i64 @time_of(ptr %x, i32 {REALTIME})
  %w = sub i64 %t, %came
  %sane = icmp ult i64 %w, 1000000000
  %r = select i1 %sane, i64 %w, i64 0
  ret i64 %r
}}
define internal i64 @publish(ptr %x, i64 %s) {{
  %handle = call ptr @slot(ptr %x, i64 %s, i64 0)
  %message = call ptr @slot(ptr %x, i64 %s, i64 1)
  %f = call ptr @pointer(ptr %x, i64 {PUBLISH})
  %r = call i32 %f(ptr %handle, ptr %message, ptr null)
  %v = sext i32 %r to i64
  ret i64 %v
}}
define internal ptr @place(ptr %x, i64 %s, i64 %at) alwaysinline {{
  %message = call ptr @slot(ptr %x, i64 %s, i64 1)
  %bytes = load ptr, ptr %message, align 8
  %p = getelementptr i8, ptr %bytes, i64 %at
  ret ptr %p
}}
define internal i64 @get_byte(ptr %x, i64 %s, i64 %at) {{
  %p = call ptr @place(ptr %x, i64 %s, i64 %at)
  %b = load i8, ptr %p, align 1
  %v = zext i8 %b to i64
  ret i64 %v
}}
define internal void @put_byte(ptr %x, i64 %s, i64 %at, i64 %v) {{
  %p = call ptr @place(ptr %x, i64 %s, i64 %at)
  %b = trunc i64 %v to i8
  store i8 %b, ptr %p, align 1
  ret void
}}
define internal i64 @get_int(ptr %x, i64 %s, i64 %at) {{
  %p = call ptr @place(ptr %x, i64 %s, i64 %at)
  %b = load i32, ptr %p, align 1
  %v = sext i32 %b to i64
  ret i64 %v
}}
define internal void @put_int(ptr %x, i64 %s, i64 %at, i64 %v) {{
  %p = call ptr @place(ptr %x, i64 %s, i64 %at)
  %b = trunc i64 %v to i32
  store i32 %b, ptr %p, align 1
  ret void
}}
define internal double @get_float(ptr %x, i64 %s, i64 %at) {{
  %p = call ptr @place(ptr %x, i64 %s, i64 %at)
  %v = load double, ptr %p, align 1
  ret double %v
}}
define internal void @put_float(ptr %x, i64 %s, i64 %at, double %v) {{
  %p = call ptr @place(ptr %x, i64 %s, i64 %at)
  store double %v, ptr %p, align 1
  ret void
}}
define internal i64 @get_word(ptr %x, i64 %k) {{
  %v = call i64 @word(ptr %x, i64 %k)
  ret i64 %v
}}
define internal void @set_word(ptr %x, i64 %k, i64 %v) {{
  %p = getelementptr i64, ptr %x, i64 %k
  store i64 %v, ptr %p, align 8
  ret void
}}
define internal i64 @model_advance(ptr %x, double %h, i64 %substeps, i64 %method) {{
  %f = call ptr @pointer(ptr %x, i64 {ADVANCE})
  %r = call i64 %f(ptr %x, double %h, i64 %substeps, i64 1, i64 %method)
  ret i64 %r
}}
define internal void @model_pre(ptr %x) {{
  %f = call ptr @pointer(ptr %x, i64 {PRE})
  call void %f(ptr %x)
  ret void
}}
define internal void @model_outputs(ptr %x) {{
  %f = call ptr @pointer(ptr %x, i64 {OUTPUTS})
  call void %f(ptr %x)
  ret void
}}
define internal void @raise_priority(ptr %x) {{
entry:
  %room = alloca i32, align 4
  %p = call i64 @word(ptr %x, i64 {PRIORITY})
  %wanted = icmp sgt i64 %p, 0
  br i1 %wanted, label %do, label %done
do:
  %p32 = trunc i64 %p to i32
  store i32 %p32, ptr %room, align 4
  %f = call ptr @pointer(ptr %x, i64 {SCHED_SETSCHEDULER})
  %r = call i32 %f(i32 0, i32 {FIFO}, ptr %room)
  br label %done
done:
  ret void
}}
"""
