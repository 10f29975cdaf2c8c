/*
 * lid_hinge: generated equations of motion; every function works on one block x of 306 numbers.
 * Lid hinge with cam and follower of 000
 * q[0] r1
 * q[1] r2
 * q[2] r3
 * q[3] r4
 * q[4] r5
 * q[5] r6
 * q[6] r7
 * q[7] r8
 * q[8] r9
 * q[9] r10
 * q[10] cam.s
 * v[0] r1
 * v[1] r2
 * v[2] r3
 * v[3] r4
 * v[4] r5
 * v[5] r6
 * v[6] r7
 * v[7] r8
 * v[8] r9
 * v[9] r10
 * v[10] cam.s
 * par[0] l2 (SI; declared in mm): Rod B2: slider pin to joint B2/B3/B4
 * par[1] l3 (SI; declared in mm): Rod B3: joint B2/B3/B4 to C
 * par[2] l4 (SI; declared in mm): Arm B4: joint B2/B3/B4 to joint B4/B5
 * par[3] l6 (SI; declared in mm): Rod B6: joint B5/B6 to C; also the radius R2 of the cam
 * par[4] x56 (SI; declared in mm): Joint B5/B6 in F5, x
 * par[5] y56 (SI; declared in mm): Joint B5/B6 in F5, y
 * par[6] x57 (SI; declared in mm): Joint B5/B7 in F5, x
 * par[7] y57 (SI; declared in mm): Joint B5/B7 in F5, y
 * par[8] xB (SI; declared in mm): Point B in F4, x
 * par[9] yB (SI; declared in mm): Point B in F4, y
 * par[10] xD (SI; declared in mm): Point D in F4, x
 * par[11] yD (SI; declared in mm): Point D in F4, y
 * par[12] xV (SI; declared in mm): Centre the lid turns about, behind joint B4/B5
 * par[13] yV (SI; declared in mm): Centre the lid turns about, above joint B4/B5
 * par[14] xA (SI; declared in mm): Vertical slide A
 * par[15] y5 (SI; declared in mm): Height of joint B4/B5 at rest; the actuator moves along y = 0
 * par[16] h1 (SI; declared in mm): Cam piece D1, the lift without rotation
 * par[17] R1 (SI; declared in mm): Cam piece C1, radius
 * par[18] l_o (SI; declared in mm): Lid, from the centre it turns about to its front
 * par[19] m_o (SI; declared in kg): Mass of the lid
 * par[20] m_1 (SI; declared in kg): Rotors and screws, as a mass that moves with r1; none in the paper
 * par[21] stop.closed (SI; declared in N/m): Stop under the closed lid
 * par[22] stop.open (SI; declared in N m/rad): Stop of the open lid
 * in[0] F1 (N): Pull of the actuator
 * out[0] h_o (m): Height of the lid
 * out[1] theta_o (rad): Tilt of the lid
 * out[2] J_hr (1): Rate of h_o for a unit rate of r1
 * out[3] J_thetar (rad/m): Rate of theta_o for a unit rate of r1
 * out[4] lid.x (m): Centre of mass of the lid, to the rear
 * out[5] lid.y (m): Centre of mass of the lid, upward
 *
 * x[0]: time[1]
 * x[1] .. x[11]: q[11]
 * x[12] .. x[22]: v[11]
 * x[23] .. x[33]: vd[11]
 * x[34]: in[1]
 * x[35] .. x[45]: tau[11]
 * x[46] .. x[53]: info[8]
 * x[54] .. x[76]: par[23]
 * x[77] .. x[86]: lam[10]
 * x[87] .. x[92]: out[6]
 * x[93] .. x[94]: energy[2]
 * x[95] .. x[105]: qd[11]
 * x[106] .. x[116]: q0[11]
 * x[117] .. x[127]: v0[11]
 * x[128] .. x[138]: sq[11]
 * x[139] .. x[149]: sv[11]
 * x[150]: qual[1]
 * x[151] .. x[152]: dy[2]
 * x[153] .. x[154]: f0[2]
 * x[155] .. x[156]: f1[2]
 * x[157] .. x[158]: k1[2]
 * x[159] .. x[160]: piv[2]
 * x[161] .. x[164]: jac[4]
 * x[165] .. x[175]: q1[11]
 * x[176] .. x[186]: v1[11]
 * x[187] .. x[210]: pre[24], written by *_pre: call it after every change of par
 * x[211] .. x[305]: spill[95], scratch
 */
#ifdef MBS_MATH_H
#include MBS_MATH_H
#else
#include <math.h>
#endif

#ifndef MBS_REAL
#define MBS_REAL double
#endif
typedef MBS_REAL real;
#define K(c) ((real)(c))

/* where each array starts in x, and how long x is */
enum {
    LID_HINGE_TIME = 0,
    LID_HINGE_Q = 1,
    LID_HINGE_V = 12,
    LID_HINGE_VD = 23,
    LID_HINGE_Z = 34,
    LID_HINGE_ZD = 34,
    LID_HINGE_IN = 34,
    LID_HINGE_TAU = 35,
    LID_HINGE_EFF = 46,
    LID_HINGE_INFO = 46,
    LID_HINGE_DRV = 54,
    LID_HINGE_PAR = 54,
    LID_HINGE_LAM = 77,
    LID_HINGE_OUT = 87,
    LID_HINGE_ENERGY = 93,
    LID_HINGE_QD = 95,
    LID_HINGE_Q0 = 106,
    LID_HINGE_V0 = 117,
    LID_HINGE_Z0 = 128,
    LID_HINGE_SQ = 128,
    LID_HINGE_SV = 139,
    LID_HINGE_SZ = 150,
    LID_HINGE_QUAL = 150,
    LID_HINGE_DY = 151,
    LID_HINGE_F0 = 153,
    LID_HINGE_F1 = 155,
    LID_HINGE_K1 = 157,
    LID_HINGE_PIV = 159,
    LID_HINGE_JAC = 161,
    LID_HINGE_Q1 = 165,
    LID_HINGE_V1 = 176,
    LID_HINGE_Z1 = 187,
    LID_HINGE_PRE = 187,
    LID_HINGE_SPILL = 211,
    LID_HINGE_TOTAL = 306
};

void lid_hinge_newton_0(real *x);
void lid_hinge_forward_0(real *x);
void lid_hinge_outputs(real *x);
void lid_hinge_start(real *x);
void lid_hinge_pre(real *x);
int lid_hinge_solve_loops(real *x);
int lid_hinge_forward(real *x);
void lid_hinge_drive(real *x, real s, real h);
void lid_hinge_normalise(real *x);
void lid_hinge_copy(real *x, int q, int v, int z, int to_q, int to_v, int to_z);
void lid_hinge_move(real *x, real h);
void lid_hinge_gather(real *x, real w);
void lid_hinge_rk4(real *x, real h, real v_s0, real v_s1, real whole);
void lid_hinge_euler(real *x, real h, real v_s0, real v_s1, real whole);
void lid_hinge_displace(real *x, int p);
void lid_hinge_slopes(real *x, int p, int o);
void lid_hinge_factor(real *x);
void lid_hinge_backsolve(real *x, int o);
void lid_hinge_implicit(real *x, real h, real v_s0, real v_s1, real whole);
void lid_hinge_substep(real *x, real h, real v_s0, real v_s1, real whole, int method);
int lid_hinge_advance(real *x, real h, int substeps, int steps, int method);

static inline real r_atan2(real a, real b) { return sizeof(real) == sizeof(float) ? (real)atan2f((float)a, (float)b) : (real)atan2((double)a, (double)b); }
static inline real r_cos(real a) { return sizeof(real) == sizeof(float) ? (real)cosf((float)a) : (real)cos((double)a); }
static inline real r_fabs(real a) { return sizeof(real) == sizeof(float) ? (real)fabsf((float)a) : (real)fabs((double)a); }
static inline real r_max(real a, real b) { return b > a ? b : a; }
static inline real r_min(real a, real b) { return b < a ? b : a; }
static inline real r_sin(real a) { return sizeof(real) == sizeof(float) ? (real)sinf((float)a) : (real)sin((double)a); }
static inline real r_sqrt(real a) { return sizeof(real) == sizeof(float) ? (real)sqrtf((float)a) : (real)sqrt((double)a); }

static inline int i_mod(int a, int b) { return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b; }
static void (*const lid_hinge_solve_loops_NEWTON[])(real *) = { lid_hinge_newton_0 };
static void (*const lid_hinge_forward_FORWARD[])(real *) = { lid_hinge_forward_0 };
static void (*const lid_hinge_forward_NEWTON[])(real *) = { lid_hinge_newton_0 };
static const int lid_hinge_displace_FREE[] = { 0 };
static const int lid_hinge_slopes_FREE[] = { 0 };

void lid_hinge_newton_0(real *x)
{
    const real q_r1 = x[LID_HINGE_Q];
    const real q_r2 = x[LID_HINGE_Q + 1];
    const real q_r3 = x[LID_HINGE_Q + 2];
    const real q_r4 = x[LID_HINGE_Q + 3];
    const real q_r5 = x[LID_HINGE_Q + 4];
    const real q_r6 = x[LID_HINGE_Q + 5];
    const real q_r7 = x[LID_HINGE_Q + 6];
    const real q_r8 = x[LID_HINGE_Q + 7];
    const real q_r9 = x[LID_HINGE_Q + 8];
    const real q_r10 = x[LID_HINGE_Q + 9];
    const real q_cam_s = x[LID_HINGE_Q + 10];
    const real l2 = x[LID_HINGE_PAR];
    const real l3 = x[LID_HINGE_PAR + 1];
    const real l4 = x[LID_HINGE_PAR + 2];
    const real l6 = x[LID_HINGE_PAR + 3];
    const real x56 = x[LID_HINGE_PAR + 4];
    const real y56 = x[LID_HINGE_PAR + 5];
    const real x57 = x[LID_HINGE_PAR + 6];
    const real y57 = x[LID_HINGE_PAR + 7];
    const real xB = x[LID_HINGE_PAR + 8];
    const real yB = x[LID_HINGE_PAR + 9];
    const real xD = x[LID_HINGE_PAR + 10];
    const real yD = x[LID_HINGE_PAR + 11];
    const real xA = x[LID_HINGE_PAR + 14];
    const real h1 = x[LID_HINGE_PAR + 16];
    const real R1 = x[LID_HINGE_PAR + 17];
    const real p0 = x[LID_HINGE_PRE];
    const real p1 = x[LID_HINGE_PRE + 1];
    const real p2 = x[LID_HINGE_PRE + 2];
    const real p3 = x[LID_HINGE_PRE + 3];
    const real p4 = x[LID_HINGE_PRE + 4];
    const real p5 = x[LID_HINGE_PRE + 5];
    const real p6 = x[LID_HINGE_PRE + 6];
    const real p7 = x[LID_HINGE_PRE + 7];
    const real p10 = x[LID_HINGE_PRE + 10];
    const real p11 = x[LID_HINGE_PRE + 11];
    const real p12 = x[LID_HINGE_PRE + 12];
    const real p13 = x[LID_HINGE_PRE + 13];
    const real p14 = x[LID_HINGE_PRE + 14];
    const real p15 = x[LID_HINGE_PRE + 15];
    const real p16 = x[LID_HINGE_PRE + 16];
    const real p17 = x[LID_HINGE_PRE + 17];
    const real t1 = r_sin(q_r2);
    const real t2 = r_cos(q_r2);
    const real t3 = q_r2 + q_r4;
    const real t4 = r_sin(t3);
    const real t5 = r_cos(t3);
    const real t6 = q_r5 + t3;
    const real t7 = r_sin(t6);
    const real t8 = r_cos(t6);
    const real t9 = K(1.5707963267948966) - p13*(q_cam_s - h1);
    const real t10 = r_sin(t9);
    const real t11 = r_cos(t9);
    const real t12 = p14 - p17*(q_cam_s - p10);
    const real t13 = r_sin(t12);
    const real t14 = r_cos(t12);
    const real t15 = q_r2 + q_r3;
    const real t16 = q_r7 + t6;
    const real t17 = q_r8 + t16;
    const real t18 = r_sin(t17);
    const real t19 = r_cos(t17);
    const real t20 = q_r9 + t17;
    const real t21 = l4*t5;
    const real t22 = t21 + (x57*t8 - y57*t7);
    const real t23 = p4*r_cos(t16) + t22;
    const real t24 = t19*p6 + t18*p7;
    const real t25 = t23 - t24;
    const real t26 = t25 - t21;
    const real t27 = l4*t4;
    const real t28 = t27 + (x57*t7 + y57*t8);
    const real t29 = p4*r_sin(t16) + t28;
    const real t30 = t19*p7 - t18*p6;
    const real t31 = t29 + t30;
    const real t32 = t31 - t27;
    const real t33 = t25 - t22;
    const real t34 = t31 - t28;
    const real t35 = xB*t5 - yB*t4 - t25;
    const real t36 = xB*t4 + yB*t5 - t31;
    const real t37 = t5*t35 + t4*t36;
    const real t38 = t5*t36 - t4*t35;
    const real t39 = t5*t34 - t4*t33;
    const real t40 = t4*t34 + t5*t33;
    const real t41 = q_r6 + t6;
    const real t42 = l6*r_cos(t41);
    const real t43 = x56*t8 - y56*t7;
    const real t44 = l2*t2;
    const real t45 = t44 + t21;
    const real t46 = t42 + (t43 + t45);
    const real t47 = t46 - t45;
    const real t48 = l6*r_sin(t41);
    const real t49 = l2*t1;
    const real t50 = t49 + t27;
    const real t51 = t48 + (t50 + (x56*t7 + y56*t8));
    const real t52 = t51 - t50;
    const real t53 = l3*r_cos(t15);
    const real t54 = t44 + t53 - t46;
    const real t55 = l3*r_sin(t15);
    const real t56 = t49 + t55 - t51;
    const real t57 = t2*t54 + t1*t56;
    const real t58 = t2*t56 - t1*t54;
    const real t59 = t51 - t49;
    const real t60 = t46 - t44;
    const real t61 = q_r10 + t20;
    const real t62 = p5*r_cos(t61);
    const real t63 = p0*t19 + t23;
    const real t64 = t62 + (p1*r_cos(t20) + t63);
    const real t65 = p5*r_sin(t61);
    const real t66 = p0*t18 + t29;
    const real t67 = t65 + (p1*r_sin(t20) + t66);
    const real t68 = t64 - t21;
    const real t69 = t67 - t27;
    const real t70 = t64 - t22;
    const real t71 = t67 - t28;
    const real t72 = t64 - t23;
    const real t73 = t67 - t29;
    const real t74 = t64 - t63;
    const real t75 = t67 - t66;
    const real t76 = xD*t5 - yD*t4 - t64;
    const real t77 = xD*t4 + yD*t5 - t67;
    const real t78 = t5*t76 + t4*t77;
    const real t79 = t5*t77 - t4*t76;
    const real t80 = t5*t75 - t4*t74;
    const real t81 = t4*t75 + t5*t74;
    const real t82 = q_r1 + t44;
    const real t83 = t21 + t82;
    const real t84 = t42 + (t83 + t43);
    const real t85 = (q_cam_s < h1 ? K(6.123233995736766e-17)*q_cam_s + p2 : (q_cam_s < p10 ? p11 - R1*t10 : p15 - l6*t13));
    const real t86 = t84 - t85;
    const real t87 = (q_cam_s < h1 ? q_cam_s + p3 : (q_cam_s < p10 ? R1*t11 + p12 : l6*t14 + p16));
    const real t88 = t51 - t87;
    const real t89 = t4*t65 + t5*t62;
    const real t90 = t5*t65 - t4*t62;
    const real t91 = K(1)/(t81*t90 - t80*t89);
    const real t92 = t5*t30 + t4*t24;
    const real t93 = t5*t24 - t4*t30;
    const real t94 = K(1)/(t40*t92 + t39*t93);
    const real t95 = K(1)/t50;
    const real t96 = t95*t51;
    const real t97 = t95*(t84 - q_r1);
    const real t98 = K(1)/(K(1) - t27*t95);
    const real t99 = t98*(t2*t59 - t1*t60);
    const real t100 = t2*t52 - t1*t47 - t99;
    const real t101 = t98*(t1*t59 + t2*t60);
    const real t102 = t101 - (t1*t52 + t2*t47);
    const real t103 = t98*(t27*t96 - t59);
    const real t104 = t98*(t84 - t82 - t27*t97);
    const real t105 = t1*t53 - t2*t55;
    const real t106 = t1*t48 + t2*t42;
    const real t107 = t1*t55 + t2*t53;
    const real t108 = t2*t48 - t1*t42;
    const real t109 = K(1)/(t105*t106 + t107*t108);
    const real t110 = t109*t107;
    const real t111 = t109*t105;
    const real t112 = t48*t110;
    const real t113 = t48*t111;
    const real t114 = t112*t100 - (t103 + t52) - t113*t102;
    const real t115 = t42*t110;
    const real t116 = t42*t111;
    const real t117 = t116*t102 + (t84 - t83 - t104 - t115*t100);
    const real t118 = (q_cam_s < h1 ? K(6.123233995736766e-17) : (q_cam_s < p10 ? R1*(t11*p13) : l6*(t14*p17)));
    const real t119 = (q_cam_s < h1 ? K(1) : (q_cam_s < p10 ? R1*(t10*p13) : l6*(t13*p17)));
    const real t120 = K(1)/(t119*t114 - t118*t117);
    const real t121 = t83 - xA;
    const real t122 = t95*t121 + t6;
    const real t123 = t57 - t99*t122;
    const real t124 = t101*t122 + t58;
    const real t125 = t112*t123 + (t86 - t96*t121 - t103*t122) - t113*t124;
    const real t126 = t116*t124 + (t97*t121 + t88 - t104*t122 - t115*t123);
    const real t127 = t119*t120*t125 - t118*t120*t126;
    const real t128 = t123 - t100*t127;
    const real t129 = t124 - t102*t127;
    const real t130 = t98*(t122 - t127);
    const real t131 = t37 - (t5*t32 - t4*t26)*t127;
    const real t132 = (t4*t32 + t5*t26)*t127 + t38;
    const real t133 = t94*t40*t131 + t94*t39*t132;
    const real t134 = t94*t93*t131 - t94*t92*t132;
    const real t135 = t78 - (t5*t69 - t4*t68)*t127 - (t5*t71 - t4*t70)*t134 - (t5*t73 - t4*t72)*t133;
    const real t136 = (t4*t73 + t5*t72)*t133 + ((t4*t71 + t5*t70)*t134 + ((t4*t69 + t5*t68)*t127 + t79));
    const real t137 = r_max(r_max(r_max(r_fabs(t121), r_fabs(t6)), r_fabs(t37)), r_fabs(t38));
    const real t138 = r_max(r_max(r_max(r_max(t137, r_fabs(t57)), r_fabs(t58)), r_fabs(t78)), r_fabs(t79));
    x[LID_HINGE_Q + 1] = q_r2 + t95*(t27*t130 + t121);
    x[LID_HINGE_Q + 2] = q_r3 - (t109*t106*t128 + t109*t108*t129);
    x[LID_HINGE_Q + 3] = q_r4 - t130;
    x[LID_HINGE_Q + 4] = q_r5 - t127;
    x[LID_HINGE_Q + 5] = q_r6 - (t110*t128 - t111*t129);
    x[LID_HINGE_Q + 6] = q_r7 - t134;
    x[LID_HINGE_Q + 7] = q_r8 - t133;
    x[LID_HINGE_Q + 8] = q_r9 + (t91*t89*t135 + t91*t90*t136);
    x[LID_HINGE_Q + 9] = q_r10 - (t91*t81*t135 + t91*t80*t136);
    x[LID_HINGE_Q + 10] = q_cam_s - (t120*t117*t125 - t120*t114*t126);
    x[LID_HINGE_INFO] = r_max(r_max(t138, r_fabs(t86)), r_fabs(t88));
}

void lid_hinge_forward_0(real *x)
{
    const real q_r1 = x[LID_HINGE_Q];
    const real q_r2 = x[LID_HINGE_Q + 1];
    const real q_r3 = x[LID_HINGE_Q + 2];
    const real q_r4 = x[LID_HINGE_Q + 3];
    const real q_r5 = x[LID_HINGE_Q + 4];
    const real q_r6 = x[LID_HINGE_Q + 5];
    const real q_r7 = x[LID_HINGE_Q + 6];
    const real q_r8 = x[LID_HINGE_Q + 7];
    const real q_r9 = x[LID_HINGE_Q + 8];
    const real q_r10 = x[LID_HINGE_Q + 9];
    const real q_cam_s = x[LID_HINGE_Q + 10];
    const real v_r1 = x[LID_HINGE_V];
    const real F1 = x[LID_HINGE_IN];
    const real tau_r1 = x[LID_HINGE_TAU];
    const real tau_r2 = x[LID_HINGE_TAU + 1];
    const real tau_r3 = x[LID_HINGE_TAU + 2];
    const real tau_r4 = x[LID_HINGE_TAU + 3];
    const real tau_r5 = x[LID_HINGE_TAU + 4];
    const real tau_r6 = x[LID_HINGE_TAU + 5];
    const real tau_r7 = x[LID_HINGE_TAU + 6];
    const real tau_r8 = x[LID_HINGE_TAU + 7];
    const real tau_r9 = x[LID_HINGE_TAU + 8];
    const real tau_r10 = x[LID_HINGE_TAU + 9];
    const real l2 = x[LID_HINGE_PAR];
    const real l3 = x[LID_HINGE_PAR + 1];
    const real l4 = x[LID_HINGE_PAR + 2];
    const real l6 = x[LID_HINGE_PAR + 3];
    const real x56 = x[LID_HINGE_PAR + 4];
    const real y56 = x[LID_HINGE_PAR + 5];
    const real x57 = x[LID_HINGE_PAR + 6];
    const real y57 = x[LID_HINGE_PAR + 7];
    const real xB = x[LID_HINGE_PAR + 8];
    const real yB = x[LID_HINGE_PAR + 9];
    const real xD = x[LID_HINGE_PAR + 10];
    const real yD = x[LID_HINGE_PAR + 11];
    const real xA = x[LID_HINGE_PAR + 14];
    const real y5 = x[LID_HINGE_PAR + 15];
    const real h1 = x[LID_HINGE_PAR + 16];
    const real R1 = x[LID_HINGE_PAR + 17];
    const real m_o = x[LID_HINGE_PAR + 19];
    const real m_1 = x[LID_HINGE_PAR + 20];
    const real stop_closed = x[LID_HINGE_PAR + 21];
    const real stop_open = x[LID_HINGE_PAR + 22];
    const real p0 = x[LID_HINGE_PRE];
    const real p1 = x[LID_HINGE_PRE + 1];
    const real p2 = x[LID_HINGE_PRE + 2];
    const real p3 = x[LID_HINGE_PRE + 3];
    const real p4 = x[LID_HINGE_PRE + 4];
    const real p5 = x[LID_HINGE_PRE + 5];
    const real p6 = x[LID_HINGE_PRE + 6];
    const real p7 = x[LID_HINGE_PRE + 7];
    const real p10 = x[LID_HINGE_PRE + 10];
    const real p11 = x[LID_HINGE_PRE + 11];
    const real p12 = x[LID_HINGE_PRE + 12];
    const real p13 = x[LID_HINGE_PRE + 13];
    const real p14 = x[LID_HINGE_PRE + 14];
    const real p15 = x[LID_HINGE_PRE + 15];
    const real p16 = x[LID_HINGE_PRE + 16];
    const real p17 = x[LID_HINGE_PRE + 17];
    const real p18 = x[LID_HINGE_PRE + 18];
    const real p19 = x[LID_HINGE_PRE + 19];
    const real p20 = x[LID_HINGE_PRE + 20];
    const real p21 = x[LID_HINGE_PRE + 21];
    const real p22 = x[LID_HINGE_PRE + 22];
    const real p23 = x[LID_HINGE_PRE + 23];
    const real t1 = r_sin(q_r2);
    const real t2 = r_cos(q_r2);
    const real t3 = q_r2 + q_r4;
    const real t4 = r_sin(t3);
    const real t5 = r_cos(t3);
    const real t6 = q_r5 + t3;
    const real t7 = r_sin(t6);
    const real t8 = r_cos(t6);
    const real t9 = K(1.5707963267948966) - p13*(q_cam_s - h1);
    const real t10 = r_sin(t9);
    const real t11 = r_cos(t9);
    const real t12 = p14 - p17*(q_cam_s - p10);
    const real t13 = r_sin(t12);
    const real t14 = r_cos(t12);
    const real t15 = q_r2 + q_r3;
    const real t16 = q_r7 + t6;
    const real t17 = q_r8 + t16;
    const real t18 = r_sin(t17);
    const real t19 = r_cos(t17);
    const real t20 = q_r9 + t17;
    const real t21 = r_sin(t20);
    const real t22 = r_cos(t20);
    const real t23 = p4*r_cos(t16);
    const real t24 = l4*t5;
    const real t25 = x57*t8 - y57*t7;
    const real t26 = t24 + t25;
    const real t27 = t23 + t26;
    const real t28 = t19*p6 + t18*p7;
    const real t29 = t27 - t28;
    const real t30 = t29 - t24;
    const real t31 = p4*r_sin(t16);
    const real t32 = l4*t4;
    const real t33 = x57*t7 + y57*t8;
    const real t34 = t32 + t33;
    const real t35 = t31 + t34;
    const real t36 = t19*p7 - t18*p6;
    const real t37 = t35 + t36;
    const real t38 = t37 - t32;
    const real t39 = t29 - t26;
    const real t40 = t37 - t34;
    const real t41 = xB*t5 - yB*t4 - t29;
    const real t42 = xB*t4 + yB*t5 - t37;
    const real t43 = t5*t38 - t4*t30;
    const real t44 = t4*t38 + t5*t30;
    const real t45 = t5*t40 - t4*t39;
    const real t46 = t4*t40 + t5*t39;
    const real t47 = q_r6 + t6;
    const real t48 = l6*r_cos(t47);
    const real t49 = x56*t8 - y56*t7;
    const real t50 = l2*t2;
    const real t51 = t50 + t24;
    const real t52 = t48 + (t49 + t51);
    const real t53 = t52 - t51;
    const real t54 = l6*r_sin(t47);
    const real t55 = l2*t1;
    const real t56 = t55 + t32;
    const real t57 = x56*t7 + y56*t8;
    const real t58 = t54 + (t56 + t57);
    const real t59 = t58 - t56;
    const real t60 = l3*r_cos(t15);
    const real t61 = t50 + t60 - t52;
    const real t62 = l3*r_sin(t15);
    const real t63 = t55 + t62 - t58;
    const real t64 = t58 - t55;
    const real t65 = t52 - t50;
    const real t66 = q_r10 + t20;
    const real t67 = p5*r_cos(t66);
    const real t68 = p1*t22;
    const real t69 = p0*t19;
    const real t70 = t69 + t27;
    const real t71 = t67 + (t68 + t70);
    const real t72 = p5*r_sin(t66);
    const real t73 = p1*t21;
    const real t74 = p0*t18;
    const real t75 = t74 + t35;
    const real t76 = t72 + (t73 + t75);
    const real t77 = t71 - t24;
    const real t78 = t76 - t32;
    const real t79 = t71 - t26;
    const real t80 = t76 - t34;
    const real t81 = t71 - t27;
    const real t82 = t76 - t35;
    const real t83 = t71 - t70;
    const real t84 = t76 - t75;
    const real t85 = xD*t5 - yD*t4 - t71;
    const real t86 = xD*t4 + yD*t5 - t76;
    const real t87 = t5*t78 - t4*t77;
    const real t88 = t4*t78 + t5*t77;
    const real t89 = t5*t80 - t4*t79;
    const real t90 = t4*t80 + t5*t79;
    const real t91 = t5*t82 - t4*t81;
    const real t92 = t4*t82 + t5*t81;
    const real t93 = t5*t84 - t4*t83;
    const real t94 = t4*t84 + t5*t83;
    const real t95 = q_r1 + t50;
    const real t96 = t24 + t95;
    const real t97 = t48 + (t96 + t49);
    const real t98 = (q_cam_s < h1 ? K(6.123233995736766e-17)*q_cam_s + p2 : (q_cam_s < p10 ? p11 - R1*t10 : p15 - l6*t13));
    const real t99 = (q_cam_s < h1 ? q_cam_s + p3 : (q_cam_s < p10 ? R1*t11 + p12 : l6*t14 + p16));
    const real t100 = t4*t72 + t5*t67;
    const real t101 = t5*t72 - t4*t67;
    const real t102 = t94*t101 - t93*t100;
    const real t103 = K(1)/t102;
    const real t104 = t103*t100;
    const real t105 = t103*t101;
    const real t106 = t103*t94;
    const real t107 = t103*t93;
    const real t108 = t5*t36 + t4*t28;
    const real t109 = t5*t28 - t4*t36;
    const real t110 = t46*t108 + t45*t109;
    const real t111 = K(1)/t110;
    const real t112 = t111*t46;
    const real t113 = t111*t45;
    const real t114 = t111*t109;
    const real t115 = t111*t108;
    const real t116 = K(1)/t56;
    const real t117 = t116*t58;
    const real t118 = t116*(t97 - q_r1);
    const real t119 = K(1) - t32*t116;
    const real t120 = K(1)/t119;
    const real t121 = t120*(t2*t64 - t1*t65);
    const real t122 = t2*t59 - t1*t53 - t121;
    const real t123 = t116*t121;
    const real t124 = t120*(t1*t64 + t2*t65);
    const real t125 = t124 - (t1*t59 + t2*t53);
    const real t126 = t116*t124;
    const real t127 = t120*(t32*t117 - t64);
    const real t128 = t120*(t97 - t95 - t32*t118);
    const real t129 = t1*t60 - t2*t62;
    const real t130 = t1*t54 + t2*t48;
    const real t131 = t1*t62 + t2*t60;
    const real t132 = t2*t54 - t1*t48;
    const real t133 = t129*t130 + t131*t132;
    const real t134 = K(1)/t133;
    const real t135 = t134*t130;
    const real t136 = t134*t132;
    const real t137 = t134*t131;
    const real t138 = t134*t129;
    const real t139 = t54*t137;
    const real t140 = t54*t138;
    const real t141 = t139*t122 - (t127 + t59) - t140*t125;
    const real t142 = K(1) - t117 - t116*t127 - t123*t139 - t126*t140;
    const real t143 = t48*t137;
    const real t144 = t48*t138;
    const real t145 = t144*t125 + (t97 - t96 - t128 - t143*t122);
    const real t146 = t126*t144 + (t123*t143 + (t118 - t116*t128));
    const real t147 = t11*p13;
    const real t148 = t14*p17;
    const real t149 = (q_cam_s < h1 ? K(6.123233995736766e-17) : (q_cam_s < p10 ? R1*t147 : l6*t148));
    const real t150 = t10*p13;
    const real t151 = t13*p17;
    const real t152 = (q_cam_s < h1 ? K(1) : (q_cam_s < p10 ? R1*t150 : l6*t151));
    const real t153 = t152*t141 - t149*t145;
    const real t154 = K(1)/t153;
    const real t155 = t154*t145;
    const real t156 = t154*t141;
    const real t157 = t152*t154;
    const real t158 = t149*t154;
    const real t159 = r_max(r_max(r_max(r_fabs(t96 - xA), r_fabs(t6)), r_fabs(t5*t41 + t4*t42)), r_fabs(t5*t42 - t4*t41));
    const real t160 = r_max(r_max(r_max(t159, r_fabs(t2*t61 + t1*t63)), r_fabs(t2*t63 - t1*t61)), r_fabs(t5*t85 + t4*t86));
    const real t161 = r_max(r_max(r_max(t160, r_fabs(t5*t86 - t4*t85)), r_fabs(t97 - t98)), r_fabs(t58 - t99));
    const real t162 = t156*t146 - t155*t142;
    const real t163 = t158*t146 - t157*t142;
    const real t164 = t123 - t122*t163;
    const real t165 = t126 + t125*t163;
    const real t166 = t135*t164 - t136*t165;
    const real t167 = t137*t164 + t138*t165;
    const real t168 = t120*(t116 + t163);
    const real t169 = t116*(K(-1) - t32*t168);
    const real t170 = t43*t163;
    const real t171 = t44*t163;
    const real t172 = t113*t171 - t112*t170;
    const real t173 = t114*t170 + t115*t171;
    const real t174 = t89*t173 - t87*t163 - t91*t172;
    const real t175 = t92*t172 + (t88*t163 - t90*t173);
    const real t176 = t104*t174 + t105*t175;
    const real t177 = t106*t174 + t107*t175;
    const real t178 = t21*(t21*p23 - K(2)*(t22*p22));
    const real t179 = p19 - t178 + (t178 + p21);
    const real t180 = t168 + t169;
    const real t181 = t163 - t180;
    const real t182 = t181 - t173;
    const real t183 = t172 + t182;
    const real t184 = t32*t180 + (K(1) + t55*t169) - t33*t181 - t31*t182 - t74*t183;
    const real t185 = t69*t183 + (t23*t182 + (t25*t181 - (t50*t169 + t24*t180)));
    const real t186 = t183 - t176;
    const real t187 = t21*p18 - t22*p20;
    const real t188 = t22*p18 + t21*p20;
    const real t189 = t186*(t179*t186 + (t188*t185 - t187*t184)) + (t184*(m_o*t184 - t187*t186) + t185*(m_o*t185 + t188*t186));
    const real t190 = v_r1*t169;
    const real t191 = v_r1*t166;
    const real t192 = v_r1*t168;
    const real t193 = v_r1*t163;
    const real t194 = v_r1*t167;
    const real t195 = v_r1*t173;
    const real t196 = v_r1*t172;
    const real t197 = v_r1*t176;
    const real t198 = v_r1*t177;
    const real t199 = v_r1*t162;
    const real t200 = t2*t190;
    const real t201 = t190 + t192;
    const real t202 = t5*t201;
    const real t203 = t56 - y5;
    const real t204 = r_max(K(0), stop_closed*r_max(K(0), -t203)*(K(1) + K(5)*(l2*t200 + l4*t202)));
    const real t205 = (K(0) < (-t203) ? t204 : K(0));
    const real t206 = K(-1.7453292519943295) - t3;
    const real t207 = (K(0) < t206 ? r_max(K(0), stop_open*r_max(K(0), t206)*(K(1) + t201)) : K(0));
    const real t208 = l2*(t190*t200) + l4*(t202*t201);
    const real t209 = t193 - t201;
    const real t210 = t193 - t195;
    const real t211 = t196 + t210;
    const real t212 = t193*(t193*t25) + t23*t210*t210;
    const real t213 = t193*(t193*t33) + t31*t210*t210;
    const real t214 = t28*t211*t211 - t212;
    const real t215 = t36*t211*t211 + t213;
    const real t216 = t193 - t192;
    const real t217 = t194 + t216;
    const real t218 = t48*t217*t217 + (t192*(t24*t192) + t49*t216*t216) - t191*(t60*t191);
    const real t219 = t54*t217*t217 + (t192*(t32*t192) + t57*t216*t216) - t191*(t62*t191);
    const real t220 = t211 - t197;
    const real t221 = t198 + t220;
    const real t222 = t67*t221*t221 + (t68*t220*t220 + (t69*t211*t211 + t212));
    const real t223 = t72*t221*t221 + (t73*t220*t220 + (t74*t211*t211 + t213));
    const real t224 = t194 + t209;
    const real t225 = (q_cam_s < h1 ? K(0) : (q_cam_s < p10 ? R1*(p13*t150) : l6*(p17*t151)));
    const real t226 = t199*(t225*t199) + (t48*t224*t224 + (t49*t209*t209 + (t190*(t50*t190) + t24*t201*t201)));
    const real t227 = (q_cam_s < h1 ? K(0) : (q_cam_s < p10 ? (-(R1*(p13*t147))) : (-(l6*(p17*t148)))));
    const real t228 = t199*(t227*t199) + (t54*t224*t224 + (t57*t209*t209 + (t190*(t55*t190) + t32*t201*t201)));
    const real t229 = t116*t208;
    const real t230 = t121*t229 + (t2*t218 + t1*t219);
    const real t231 = t124*t229 - (t2*t219 - t1*t218);
    const real t232 = t226 - t117*t208 - t127*t229 - t139*t230 - t140*t231;
    const real t233 = t144*t231 + (t143*t230 + (t118*t208 + t228 - t128*t229));
    const real t234 = t157*t232 - t158*t233;
    const real t235 = t122*t234 + t230;
    const real t236 = t231 - t125*t234;
    const real t237 = t120*(t229 - t234);
    const real t238 = t116*(t32*t237 + t208);
    const real t239 = t43*t234 + (t4*t215 - t5*t214);
    const real t240 = t44*t234 - (t4*t214 + t5*t215);
    const real t241 = t113*t240 - t112*t239;
    const real t242 = t114*t239 + t115*t240;
    const real t243 = t89*t242 - (t87*t234 + (t5*t222 + t4*t223)) - t91*t241;
    const real t244 = t92*t241 + (t88*t234 - (t5*t223 - t4*t222) - t90*t242);
    const real t245 = t104*t243 + t105*t244;
    const real t246 = t190*t190;
    const real t247 = t237 - t238;
    const real t248 = t201*t201;
    const real t249 = t234 + t247;
    const real t250 = t209*t209;
    const real t251 = K(9.81) - (t50*t238 + t55*t246) + (t24*t247 - t32*t248) + (t25*t249 - t250*t33);
    const real t252 = t209 - t195;
    const real t253 = t249 - t242;
    const real t254 = t252*t252;
    const real t255 = t55*t238 - t50*t246 - (t24*t248 + t32*t247) - (t250*t25 + t33*t249) - (t23*t254 + t31*t253);
    const real t256 = t196 + t252;
    const real t257 = t241 + t253;
    const real t258 = t256*t256;
    const real t259 = t255 - (t69*t258 + t74*t257);
    const real t260 = t251 + (t23*t253 - t31*t254) + (t69*t257 - t74*t258);
    const real t261 = t256 - t197;
    const real t262 = t257 - t245;
    const real t263 = t261*t261;
    const real t264 = t184*(m_o*t259 - (t263*t188 + t187*t262)) + t185*(m_o*t260 + (t188*t262 - t263*t187));
    const real t265 = t186*(t179*t262 + (t188*t260 - t187*t259)) + t264 - (F1 + tau_r1) - tau_r5*t163;
    const real t266 = t169*(t207 + (tau_r2 + t205*t51)) + (t168*(t207 + (tau_r4 + t205*t24)) + (t265 - tau_r3*t166 - tau_r6*t167));
    const real t267 = K(1)/(m_1 + t189)*(tau_r9*t176 + (tau_r7*t173 + (t266 - tau_r8*t172)) - tau_r10*t177);
    const real t268 = r_min(K(370.3839864925219)*r_fabs(t102), K(1569.9359528447421)*r_fabs(t110));
    const real t269 = r_min(r_min(t268, K(16.674336992003514)*r_fabs(t56)), K(0.9999999999999991)*r_fabs(t119));
    const real t270 = r_min(r_min(t269, K(612.7556746395152)*r_fabs(t133)), K(6.108413787801925)*r_fabs(t153));
    x[LID_HINGE_V + 1] = -t190;
    x[LID_HINGE_V + 2] = t191;
    x[LID_HINGE_V + 3] = -t192;
    x[LID_HINGE_V + 4] = t193;
    x[LID_HINGE_V + 5] = t194;
    x[LID_HINGE_V + 6] = -t195;
    x[LID_HINGE_V + 7] = t196;
    x[LID_HINGE_V + 8] = -t197;
    x[LID_HINGE_V + 9] = t198;
    x[LID_HINGE_V + 10] = t199;
    x[LID_HINGE_VD] = -t267;
    x[LID_HINGE_VD + 1] = t169*t267 - t238;
    x[LID_HINGE_VD + 2] = t136*t236 - t135*t235 - t267*t166;
    x[LID_HINGE_VD + 3] = t237 + t168*t267;
    x[LID_HINGE_VD + 4] = t234 - t267*t163;
    x[LID_HINGE_VD + 5] = -(t267*t167 + (t137*t235 + t138*t236));
    x[LID_HINGE_VD + 6] = t267*t173 - t242;
    x[LID_HINGE_VD + 7] = t241 - t267*t172;
    x[LID_HINGE_VD + 8] = t267*t176 - t245;
    x[LID_HINGE_VD + 9] = t106*t243 + t107*t244 - t267*t177;
    x[LID_HINGE_VD + 10] = t155*t232 - t156*t233 - t267*t162;
    x[LID_HINGE_INFO] = t161;
    x[LID_HINGE_INFO + 1] = t270;
}

void lid_hinge_outputs(real *x)
{
    const real q_r1 = x[LID_HINGE_Q];
    const real q_r2 = x[LID_HINGE_Q + 1];
    const real q_r3 = x[LID_HINGE_Q + 2];
    const real q_r4 = x[LID_HINGE_Q + 3];
    const real q_r5 = x[LID_HINGE_Q + 4];
    const real q_r6 = x[LID_HINGE_Q + 5];
    const real q_r7 = x[LID_HINGE_Q + 6];
    const real q_r8 = x[LID_HINGE_Q + 7];
    const real q_r9 = x[LID_HINGE_Q + 8];
    const real q_cam_s = x[LID_HINGE_Q + 10];
    const real v_r1 = x[LID_HINGE_V];
    const real v_r2 = x[LID_HINGE_V + 1];
    const real v_r4 = x[LID_HINGE_V + 3];
    const real v_r5 = x[LID_HINGE_V + 4];
    const real v_r7 = x[LID_HINGE_V + 6];
    const real v_r8 = x[LID_HINGE_V + 7];
    const real v_r9 = x[LID_HINGE_V + 8];
    const real l2 = x[LID_HINGE_PAR];
    const real l4 = x[LID_HINGE_PAR + 2];
    const real l6 = x[LID_HINGE_PAR + 3];
    const real x57 = x[LID_HINGE_PAR + 6];
    const real y57 = x[LID_HINGE_PAR + 7];
    const real y5 = x[LID_HINGE_PAR + 15];
    const real h1 = x[LID_HINGE_PAR + 16];
    const real m_o = x[LID_HINGE_PAR + 19];
    const real m_1 = x[LID_HINGE_PAR + 20];
    const real p0 = x[LID_HINGE_PRE];
    const real p4 = x[LID_HINGE_PRE + 4];
    const real p8 = x[LID_HINGE_PRE + 8];
    const real p9 = x[LID_HINGE_PRE + 9];
    const real p10 = x[LID_HINGE_PRE + 10];
    const real p13 = x[LID_HINGE_PRE + 13];
    const real p14 = x[LID_HINGE_PRE + 14];
    const real p17 = x[LID_HINGE_PRE + 17];
    const real p18 = x[LID_HINGE_PRE + 18];
    const real p19 = x[LID_HINGE_PRE + 19];
    const real p20 = x[LID_HINGE_PRE + 20];
    const real p21 = x[LID_HINGE_PRE + 21];
    const real p22 = x[LID_HINGE_PRE + 22];
    const real p23 = x[LID_HINGE_PRE + 23];
    const real t1 = r_sin(q_r2);
    const real t2 = r_cos(q_r2);
    const real t3 = q_r2 + q_r4;
    const real t4 = q_r5 + t3;
    const real t5 = r_sin(t4);
    const real t6 = r_cos(t4);
    const real t7 = (q_cam_s < p10 ? K(1.5707963267948966) - p13*(q_cam_s - h1) : p14 - p17*(q_cam_s - p10));
    const real t8 = (q_cam_s < h1 ? K(1.5707963267948966) : t7);
    const real t9 = l6*r_cos(t8 + (K(3.141592653589793) - q_r6));
    const real t10 = r_cos(t8)*(l6*r_sin(K(3.141592653589793) + (q_r2 + q_r3 - q_r6)))/(l4*r_sin(q_r3 - q_r4));
    const real t11 = (r_sin(q_r4)*(l4*t10) + t1*t9)/t2;
    const real t12 = l2*t1;
    const real t13 = l4*r_sin(t3);
    const real t14 = t12 + t13;
    const real t15 = q_r7 + t4;
    const real t16 = q_r8 + t15;
    const real t17 = q_r9 + t16;
    const real t18 = r_sin(t17);
    const real t19 = r_cos(t17);
    const real t20 = p0*r_cos(t16);
    const real t21 = p4*r_cos(t15);
    const real t22 = l4*r_cos(t3);
    const real t23 = l2*t2;
    const real t24 = x57*t6 - y57*t5;
    const real t25 = p0*r_sin(t16);
    const real t26 = p4*r_sin(t15);
    const real t27 = x57*t5 + y57*t6;
    const real t28 = t18*(t18*p23 - K(2)*(t19*p22));
    const real t29 = v_r2 + v_r4;
    const real t30 = v_r5 + t29;
    const real t31 = v_r7 + t30;
    const real t32 = v_r8 + t31;
    const real t33 = v_r1 - v_r2*t12 - t13*t29 - t27*t30 - t26*t31 - t25*t32;
    const real t34 = t20*t32 + (t21*t31 + (t24*t30 + (v_r2*t23 + t22*t29)));
    const real t35 = t18*p18 - t19*p20;
    const real t36 = v_r9 + t32;
    const real t37 = m_o*(t33*t33 + t34*t34) + K(2)*((t19*p18 + t18*p20)*t36*t34 - t35*t36*t33);
    const real t38 = K(0.5)*(m_1*(v_r1*v_r1)) + K(0.5)*((p19 - t28 + (t28 + p21))*t36*t36 + t37);
    const real t39 = m_o*(K(-9.81)*t12 - K(9.81)*t13 - K(9.81)*t27 - K(9.81)*t26 - K(9.81)*t25);
    x[LID_HINGE_OUT] = t14 - y5;
    x[LID_HINGE_OUT + 1] = -t3;
    x[LID_HINGE_OUT + 2] = t9/t11;
    x[LID_HINGE_OUT + 3] = -(t10/t11);
    x[LID_HINGE_OUT + 4] = t20 + (t21 + (t22 + (q_r1 + t23) + t24)) + (t19*p8 + t18*p9);
    x[LID_HINGE_OUT + 5] = t25 + (t26 + (t14 + t27)) + (t18*p8 - t19*p9);
    x[LID_HINGE_ENERGY] = t38;
    x[LID_HINGE_ENERGY + 1] = -(t39 - K(9.81)*t35);
}

void lid_hinge_start(real *x)
{
    x[LID_HINGE_TIME] = K(0);
    x[LID_HINGE_Q] = K(-0.0003137303340311412);
    x[LID_HINGE_Q + 1] = K(3.989654732571274);
    x[LID_HINGE_Q + 2] = K(-3.269540049300526);
    x[LID_HINGE_Q + 3] = K(-3.989654732571274);
    x[LID_HINGE_Q + 4] = K(0);
    x[LID_HINGE_Q + 5] = K(2.6555559982940977);
    x[LID_HINGE_Q + 6] = K(2.2655346029916);
    x[LID_HINGE_Q + 7] = K(-1.7677122703745987);
    x[LID_HINGE_Q + 8] = K(2.643770320972792);
    x[LID_HINGE_Q + 9] = K(-5.639684198386302);
    x[LID_HINGE_Q + 10] = K(0);
    x[LID_HINGE_V] = K(0);
    x[LID_HINGE_V + 1] = K(0);
    x[LID_HINGE_V + 2] = K(0);
    x[LID_HINGE_V + 3] = K(0);
    x[LID_HINGE_V + 4] = K(0);
    x[LID_HINGE_V + 5] = K(0);
    x[LID_HINGE_V + 6] = K(0);
    x[LID_HINGE_V + 7] = K(0);
    x[LID_HINGE_V + 8] = K(0);
    x[LID_HINGE_V + 9] = K(0);
    x[LID_HINGE_V + 10] = K(0);
    x[LID_HINGE_VD] = K(0);
    x[LID_HINGE_VD + 1] = K(0);
    x[LID_HINGE_VD + 2] = K(0);
    x[LID_HINGE_VD + 3] = K(0);
    x[LID_HINGE_VD + 4] = K(0);
    x[LID_HINGE_VD + 5] = K(0);
    x[LID_HINGE_VD + 6] = K(0);
    x[LID_HINGE_VD + 7] = K(0);
    x[LID_HINGE_VD + 8] = K(0);
    x[LID_HINGE_VD + 9] = K(0);
    x[LID_HINGE_VD + 10] = K(0);
    x[LID_HINGE_IN] = K(0);
    x[LID_HINGE_TAU] = K(0);
    x[LID_HINGE_TAU + 1] = K(0);
    x[LID_HINGE_TAU + 2] = K(0);
    x[LID_HINGE_TAU + 3] = K(0);
    x[LID_HINGE_TAU + 4] = K(0);
    x[LID_HINGE_TAU + 5] = K(0);
    x[LID_HINGE_TAU + 6] = K(0);
    x[LID_HINGE_TAU + 7] = K(0);
    x[LID_HINGE_TAU + 8] = K(0);
    x[LID_HINGE_TAU + 9] = K(0);
    x[LID_HINGE_TAU + 10] = K(0);
    x[LID_HINGE_INFO] = K(0);
    x[LID_HINGE_INFO + 1] = K(0);
    x[LID_HINGE_INFO + 2] = K(0);
    x[LID_HINGE_INFO + 3] = K(0);
    x[LID_HINGE_INFO + 4] = K(0);
    x[LID_HINGE_INFO + 5] = K(0);
    x[LID_HINGE_INFO + 6] = K(0);
    x[LID_HINGE_INFO + 7] = K(0);
    x[LID_HINGE_PAR] = K(0.06);
    x[LID_HINGE_PAR + 1] = K(0.034);
    x[LID_HINGE_PAR + 2] = K(0.04);
    x[LID_HINGE_PAR + 3] = K(0.048);
    x[LID_HINGE_PAR + 4] = K(0.028);
    x[LID_HINGE_PAR + 5] = K(0);
    x[LID_HINGE_PAR + 6] = K(-0.02);
    x[LID_HINGE_PAR + 7] = K(0.004);
    x[LID_HINGE_PAR + 8] = K(0.02);
    x[LID_HINGE_PAR + 9] = K(0.024);
    x[LID_HINGE_PAR + 10] = K(-0.01);
    x[LID_HINGE_PAR + 11] = K(0.024);
    x[LID_HINGE_PAR + 12] = K(0.07200000000000001);
    x[LID_HINGE_PAR + 13] = K(0.054);
    x[LID_HINGE_PAR + 14] = K(0);
    x[LID_HINGE_PAR + 15] = K(-0.045);
    x[LID_HINGE_PAR + 16] = K(0.008);
    x[LID_HINGE_PAR + 17] = K(0.012);
    x[LID_HINGE_PAR + 18] = K(0.23);
    x[LID_HINGE_PAR + 19] = K(1.2);
    x[LID_HINGE_PAR + 20] = K(0);
    x[LID_HINGE_PAR + 21] = K(50000);
    x[LID_HINGE_PAR + 22] = K(200);
}

void lid_hinge_pre(real *x)
{
    const real l3 = x[LID_HINGE_PAR + 1];
    const real l4 = x[LID_HINGE_PAR + 2];
    const real l6 = x[LID_HINGE_PAR + 3];
    const real x56 = x[LID_HINGE_PAR + 4];
    const real y56 = x[LID_HINGE_PAR + 5];
    const real x57 = x[LID_HINGE_PAR + 6];
    const real y57 = x[LID_HINGE_PAR + 7];
    const real xB = x[LID_HINGE_PAR + 8];
    const real yB = x[LID_HINGE_PAR + 9];
    const real xD = x[LID_HINGE_PAR + 10];
    const real yD = x[LID_HINGE_PAR + 11];
    const real xV = x[LID_HINGE_PAR + 12];
    const real yV = x[LID_HINGE_PAR + 13];
    const real xA = x[LID_HINGE_PAR + 14];
    const real y5 = x[LID_HINGE_PAR + 15];
    const real h1 = x[LID_HINGE_PAR + 16];
    const real R1 = x[LID_HINGE_PAR + 17];
    const real l_o = x[LID_HINGE_PAR + 18];
    const real m_o = x[LID_HINGE_PAR + 19];
    const real t1 = l4 + x56;
    const real t2 = t1*t1 + y56*y56;
    const real t3 = (l6*l6 + t2 - l3*l3)/(K(2)*(l6*r_sqrt(t2)));
    const real t4 = r_atan2(r_sqrt(K(1) - t3*t3), t3) - r_atan2(y56, t1);
    const real t5 = l6*r_cos(t4);
    const real t6 = (t5 - R1)/(l6 - R1);
    const real t7 = xB - l4;
    const real t8 = xV - x57;
    const real t9 = yV - y57;
    const real t10 = r_sqrt(t8*t8 + t9*t9);
    const real t11 = xD - xB;
    const real t12 = K(-0.5)*l_o - t7;
    const real t13 = yD - yB;
    const real t14 = r_sqrt(t11*t11 + t13*t13);
    const real t15 = (t11*t12 - yB*t13)/t14;
    const real t16 = (yB*t11 + t13*t12)/t14;
    const real t17 = R1*r_atan2(r_sqrt(K(1) - t6*t6), t6);
    const real t18 = K(1.5707963267948966) - t17/R1;
    const real t19 = r_sin(t18);
    const real t20 = r_cos(t18);
    const real t21 = x56 + xA - t5;
    const real t22 = R1 + (K(6.123233995736766e-17)*h1 + t21);
    const real t23 = l6*r_sin(t4) + (y56 + y5);
    const real t24 = h1 + t23 - K(6.123233995736766e-17)*R1;
    const real t25 = m_o*t15;
    const real t26 = K(0.041666666666666664)*(l_o*(m_o*l_o));
    const real t27 = t26 + t15*t25;
    const real t28 = m_o*t16;
    const real t29 = t26 + t16*t28;
    x[LID_HINGE_PRE] = t10;
    x[LID_HINGE_PRE + 1] = t14;
    x[LID_HINGE_PRE + 2] = t21;
    x[LID_HINGE_PRE + 3] = t23;
    x[LID_HINGE_PRE + 4] = r_sqrt(t7*t7 + yB*yB);
    x[LID_HINGE_PRE + 5] = r_sqrt(xV*xV + yV*yV);
    x[LID_HINGE_PRE + 6] = (x57*t8 + y57*t9)/t10;
    x[LID_HINGE_PRE + 7] = (x57*t9 - y57*t8)/t10;
    x[LID_HINGE_PRE + 8] = t15;
    x[LID_HINGE_PRE + 9] = t16;
    x[LID_HINGE_PRE + 10] = h1 + t17;
    x[LID_HINGE_PRE + 11] = t22;
    x[LID_HINGE_PRE + 12] = t24;
    x[LID_HINGE_PRE + 13] = K(1)/R1;
    x[LID_HINGE_PRE + 14] = t18;
    x[LID_HINGE_PRE + 15] = l6*t19 + (t22 - R1*t19);
    x[LID_HINGE_PRE + 16] = R1*t20 + t24 - l6*t20;
    x[LID_HINGE_PRE + 17] = K(1)/l6;
    x[LID_HINGE_PRE + 18] = t25;
    x[LID_HINGE_PRE + 19] = t27;
    x[LID_HINGE_PRE + 20] = t28;
    x[LID_HINGE_PRE + 21] = t29;
    x[LID_HINGE_PRE + 22] = t16*t25;
    x[LID_HINGE_PRE + 23] = t27 - t29;
}

int lid_hinge_solve_loops(real *x)
{
    int it = 0, p = 0;
    p = (int)x[48];
    it = 0;
    while (it < 12) {
        lid_hinge_solve_loops_NEWTON[p](x);
        it = it + 1;
        if (x[46] < K(1e-07)) {
            break;
        }
    }
    x[49] = (real)it;
    return it;
}

int lid_hinge_forward(real *x)
{
    int i = 0, p = 0, status = 0;
    real total = 0;
    p = (int)x[48];
    lid_hinge_solve_loops(x);
    lid_hinge_forward_FORWARD[p](x);
    if (x[46] > K(2e-14)) {
        lid_hinge_forward_NEWTON[p](x);
        lid_hinge_forward_FORWARD[p](x);
        x[49] = x[49] + K(1);
    }
    total = K(0);
    for (i = 0; i < 11; ++i) {
        total = total + x[23 + i];
    }
    status = 0;
    if (!(x[46] < K(1e-09))) {
        status = 1;
    }
    x[52] = r_min(x[52], x[47]);
    if (!(isfinite(total) != 0)) {
        status = 2;
    }
    x[51] = (real)status;
    return status;
}

void lid_hinge_drive(real *x, real s, real h)
{
    (void)x;
    (void)h;
    (void)s;
}

void lid_hinge_normalise(real *x)
{
    (void)x;
}

void lid_hinge_copy(real *x, int q, int v, int z, int to_q, int to_v, int to_z)
{
    int i = 0;
    (void)to_z;
    (void)z;
    for (i = 0; i < 11; ++i) {
        x[to_q + i] = x[q + i];
    }
    for (i = 0; i < 11; ++i) {
        x[to_v + i] = x[v + i];
    }
}

void lid_hinge_move(real *x, real h)
{
    int i = 0;
    for (i = 0; i < 11; ++i) {
        x[1 + i] = x[106 + i] + (h * x[12 + i]);
    }
    for (i = 0; i < 11; ++i) {
        x[12 + i] = x[117 + i] + (h * x[23 + i]);
    }
}

void lid_hinge_gather(real *x, real w)
{
    int i = 0;
    for (i = 0; i < 11; ++i) {
        x[128 + i] = x[128 + i] + (w * x[12 + i]);
    }
    for (i = 0; i < 11; ++i) {
        x[139 + i] = x[139 + i] + (w * x[23 + i]);
    }
}

void lid_hinge_rk4(real *x, real h, real v_s0, real v_s1, real whole)
{
    int i = 0, stage = 0;
    real part = 0, t = 0;
    (void)v_s0;
    (void)v_s1;
    (void)whole;
    t = x[0];
    lid_hinge_copy(x, 1, 12, 34, 106, 117, 128);
    for (i = 0; i < 11; ++i) {
        x[128 + i] = K(0);
    }
    for (i = 0; i < 11; ++i) {
        x[139 + i] = K(0);
    }
    lid_hinge_gather(x, K(1));
    for (stage = 0; stage < 3; ++stage) {
        part = K(0.5);
        if (stage == 2) {
            part = K(1);
        }
        lid_hinge_move(x, part * h);
        x[0] = t + (part * h);
        lid_hinge_forward(x);
        lid_hinge_gather(x, (stage == 2) ? K(1) : K(2));
    }
    for (i = 0; i < 11; ++i) {
        x[1 + i] = x[106 + i] + ((h / K(6)) * x[128 + i]);
    }
    for (i = 0; i < 11; ++i) {
        x[12 + i] = x[117 + i] + ((h / K(6)) * x[139 + i]);
    }
    x[0] = t + h;
    lid_hinge_forward(x);
}

void lid_hinge_euler(real *x, real h, real v_s0, real v_s1, real whole)
{
    int i = 0;
    real t = 0;
    (void)v_s0;
    (void)v_s1;
    (void)whole;
    t = x[0];
    lid_hinge_copy(x, 1, 12, 34, 106, 117, 128);
    for (i = 0; i < 11; ++i) {
        x[12 + i] = x[117 + i] + (h * x[23 + i]);
    }
    for (i = 0; i < 11; ++i) {
        x[1 + i] = x[106 + i] + (h * x[12 + i]);
    }
    x[0] = t + h;
    lid_hinge_forward(x);
}

void lid_hinge_displace(real *x, int p)
{
    int i = 0, k = 0;
    for (i = 0; i < 11; ++i) {
        x[1 + i] = x[106 + i];
    }
    for (i = 0; i < 11; ++i) {
        x[12 + i] = x[117 + i];
    }
    for (k = 0; k < 1; ++k) {
        x[12 + lid_hinge_displace_FREE[(p * 1) + k]] = x[117 + lid_hinge_displace_FREE[(p * 1) + k]] + x[152 + k];
    }
    for (k = 0; k < 1; ++k) {
        x[1 + lid_hinge_displace_FREE[(p * 1) + k]] = x[106 + lid_hinge_displace_FREE[(p * 1) + k]] + x[151 + k];
    }
}

void lid_hinge_slopes(real *x, int p, int o)
{
    int k = 0;
    for (k = 0; k < 1; ++k) {
        x[o + k] = x[12 + lid_hinge_slopes_FREE[(p * 1) + k]];
        x[(o + 1) + k] = x[23 + lid_hinge_slopes_FREE[(p * 1) + k]];
    }
}

void lid_hinge_factor(real *x)
{
    int best = 0, c = 0, j = 0, r = 0;
    real f = 0, inverse = 0, size = 0, swap = 0;
    for (c = 0; c < 2; ++c) {
        best = c;
        size = r_fabs(x[(161 + (c * 2)) + c]);
        for (r = c + 1; r < 2; ++r) {
            if (r_fabs(x[(161 + (r * 2)) + c]) > size) {
                size = r_fabs(x[(161 + (r * 2)) + c]);
                best = r;
            }
        }
        x[159 + c] = (real)best;
        if (best != c) {
            for (j = 0; j < 2; ++j) {
                swap = x[(161 + (c * 2)) + j];
                x[(161 + (c * 2)) + j] = x[(161 + (best * 2)) + j];
                x[(161 + (best * 2)) + j] = swap;
            }
        }
        inverse = K(1) / x[(161 + (c * 2)) + c];
        for (r = c + 1; r < 2; ++r) {
            f = x[(161 + (r * 2)) + c] * inverse;
            x[(161 + (r * 2)) + c] = f;
            for (j = c + 1; j < 2; ++j) {
                x[(161 + (r * 2)) + j] = x[(161 + (r * 2)) + j] - (f * x[(161 + (c * 2)) + j]);
            }
        }
    }
}

void lid_hinge_backsolve(real *x, int o)
{
    int best = 0, c = 0, i = 0, j = 0, k = 0, r = 0;
    real swap = 0;
    for (c = 0; c < 2; ++c) {
        best = (int)x[159 + c];
        swap = x[o + c];
        x[o + c] = x[o + best];
        x[o + best] = swap;
    }
    for (r = 0; r < 2; ++r) {
        for (j = 0; j < r; ++j) {
            x[o + r] = x[o + r] - (x[(161 + (r * 2)) + j] * x[o + j]);
        }
    }
    for (k = 0; k < 2; ++k) {
        i = 1 - k;
        for (j = i + 1; j < 2; ++j) {
            x[o + i] = x[o + i] - (x[(161 + (i * 2)) + j] * x[o + j]);
        }
        x[o + i] = x[o + i] / x[(161 + (i * 2)) + i];
    }
}

void lid_hinge_implicit(real *x, real h, real v_s0, real v_s1, real whole)
{
    int i = 0, j = 0, p = 0;
    real step = 0, t = 0;
    (void)v_s0;
    (void)v_s1;
    (void)whole;
    t = x[0];
    p = (int)x[48];
    lid_hinge_copy(x, 1, 12, 34, 106, 117, 128);
    lid_hinge_slopes(x, p, 153);
    for (j = 0; j < 2; ++j) {
        for (i = 0; i < 2; ++i) {
            x[151 + i] = K(0);
        }
        step = K(1e-07);
        if ((j >= 1) && (j < 2)) {
            step = K(1e-06);
        }
        x[151 + j] = step;
        lid_hinge_displace(x, p);
        lid_hinge_forward(x);
        lid_hinge_slopes(x, p, 155);
        for (i = 0; i < 2; ++i) {
            x[(161 + (i * 2)) + j] = ((K(-1.7071067811865475) * h) * (x[155 + i] - x[153 + i])) / step;
        }
        x[(161 + (j * 2)) + j] = x[(161 + (j * 2)) + j] + K(1);
    }
    lid_hinge_factor(x);
    for (i = 0; i < 2; ++i) {
        x[157 + i] = x[153 + i];
    }
    lid_hinge_backsolve(x, 157);
    for (i = 0; i < 2; ++i) {
        x[151 + i] = h * x[157 + i];
    }
    lid_hinge_displace(x, p);
    x[0] = t + h;
    lid_hinge_forward(x);
    lid_hinge_slopes(x, p, 155);
    for (i = 0; i < 2; ++i) {
        x[155 + i] = x[155 + i] - (K(2) * x[157 + i]);
    }
    lid_hinge_backsolve(x, 155);
    for (i = 0; i < 2; ++i) {
        x[151 + i] = h * ((K(1.5) * x[157 + i]) + (K(0.5) * x[155 + i]));
    }
    lid_hinge_displace(x, p);
    lid_hinge_forward(x);
}

void lid_hinge_substep(real *x, real h, real v_s0, real v_s1, real whole, int method)
{
    int attempt = 0;
    real t = 0;
    t = x[0];
    for (attempt = 0; attempt < 1; ++attempt) {
        if (attempt > 0) {
            x[48] = (real)i_mod(((int)x[48]) + 1, 1);
            x[50] = x[50] + K(1);
            lid_hinge_copy(x, 165, 176, 187, 1, 12, 34);
            x[0] = t;
            lid_hinge_forward(x);
        }
        x[52] = K(1);
        if (method == 0) {
            lid_hinge_rk4(x, h, v_s0, v_s1, whole);
        } else if (method == 1) {
            lid_hinge_euler(x, h, v_s0, v_s1, whole);
        } else {
            lid_hinge_implicit(x, h, v_s0, v_s1, whole);
        }
        if ((x[51] == K(0)) && (x[52] > K(0.02))) {
            break;
        }
    }
}

int lid_hinge_advance(real *x, real h, int substeps, int steps, int method)
{
    int i = 0, n = 0, worst = 0;
    real part = 0;
    worst = 0;
    part = K(1) / ((real)substeps);
    lid_hinge_forward(x);
    for (n = 0; n < steps; ++n) {
        for (i = 0; i < substeps; ++i) {
            lid_hinge_substep(x, h * part, ((real)i) * part, ((real)(i + 1)) * part, h, method);
            if (x[51] > ((real)worst)) {
                worst = (int)x[51];
            }
        }
        if (worst == 2) {
            break;
        }
    }
    return worst;
}
