/* ARP and UDP of the emulated board, on the host: answers, addresses, checksums, and whatever arrives damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

static const struct net_config device = {{2, 0, 0, 0, 0, 1}, {10, 0, 2, 15}, 7000};
static const struct net_config host = {{2, 0, 0, 0, 0, 2}, {10, 0, 2, 2}, 40000};

/* What the host would send: its own configuration, with the device as the peer. */
static size_t datagram(uint8_t *frame, const uint8_t *payload, size_t length) {
  struct net_state to = {.has_peer = true, .peer_port = device.port};
  memcpy(to.peer_mac, device.mac, 6);
  memcpy(to.peer_ip, device.ip, 4);
  memcpy(frame + NET_HEADERS, payload, length);
  return net_output(&host, &to, frame, length);
}

static void test_a_datagram_arrives_and_its_sender_gets_the_answer(void **unused) {
  (void)unused;
  static const uint8_t payload[] = {1, 2, 3, 4, 5};
  uint8_t frame[128];
  struct net_state state = {0};
  assert_int_equal(net_output(&device, &state, frame, 5), 0); /* nobody has spoken yet */
  const size_t n = datagram(frame, payload, sizeof payload);
  assert_int_equal(n, NET_FRAME_MIN);
  const struct net_result got = net_input(&device, frame, n);
  assert_int_equal(got.kind, NET_DATAGRAM);
  assert_int_equal(got.length, sizeof payload);
  assert_memory_equal(got.payload, payload, sizeof payload);
  net_adopt(&state, frame);
  assert_int_equal(state.peer_port, host.port);

  memcpy(frame + NET_HEADERS, "answer", 6);
  const size_t back = net_output(&device, &state, frame, 6);
  assert_memory_equal(frame, host.mac, 6);
  assert_memory_equal(frame + 6, device.mac, 6);
  assert_int_equal(net_input(&host, frame, back).kind, NET_DATAGRAM);
}

static void test_headers_are_those_of_the_standard(void **unused) {
  (void)unused;
  uint8_t frame[128];
  const size_t n = datagram(frame, (const uint8_t *)"ab", 2);
  static const uint8_t expected[NET_HEADERS] = {
      2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,                                      /* Ethernet: to, from, IP */
      0x45, 0, 0, 30, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 2, 2, 10, 0, 2, 15,        /* IP: 30 bytes, UDP */
      0x9C, 0x40, 0x1B, 0x58, 0, 10, 0, 0};                                          /* UDP: 40000 to 7000, 10 bytes */
  /* All but the checksums, which a test below covers. */
  for (size_t i = 0; i < NET_HEADERS; i++) {
    if (i != 24 && i != 25 && i != 40 && i != 41) {
      assert_int_equal(frame[i], expected[i]);
    }
  }
  assert_int_equal(n, NET_FRAME_MIN);
}

static void test_one_wrong_bit_is_refused_wherever_a_checksum_covers_it(void **unused) {
  (void)unused;
  uint8_t good[128], bad[128];
  const size_t n = datagram(good, (const uint8_t *)"0123456789", 10);
  const size_t end = NET_HEADERS + 10;
  for (size_t bit = 8 * 14; bit < 8 * end; bit++) {
    const size_t byte = bit / 8;
    memcpy(bad, good, n);
    bad[byte] ^= (uint8_t)(1u << (bit % 8));
    assert_int_equal(net_input(&device, bad, n).kind, NET_NOTHING);
  }
}

static void test_arp_requests_for_us_are_answered_and_no_others(void **unused) {
  (void)unused;
  uint8_t frame[64];
  const size_t n = net_announce(&host, frame);
  memcpy(frame + 38, device.ip, 4); /* the host asks for us */
  struct net_result got = net_input(&device, frame, n);
  assert_int_equal(got.kind, NET_ANSWER);
  assert_int_equal(got.length, NET_ARP_LENGTH);
  assert_memory_equal(frame, host.mac, 6);
  assert_memory_equal(frame + 22, device.mac, 6);
  assert_memory_equal(frame + 28, device.ip, 4);
  assert_memory_equal(frame + 32, host.mac, 6);
  assert_memory_equal(frame + 38, host.ip, 4);
  assert_int_equal(net_input(&device, frame, n).kind, NET_NOTHING); /* a reply is not answered */
  (void)net_announce(&host, frame);
  assert_int_equal(net_input(&device, frame, n).kind, NET_NOTHING);
}

static void test_frames_of_any_length_and_content_do_no_harm(void **unused) {
  (void)unused;
  uint32_t random = 12345u;
  for (unsigned i = 0; i < 200000u; i++) {
    uint8_t frame[96];
    memset(frame, 0, sizeof frame);
    (void)datagram(frame, (const uint8_t *)"x", 1);
    const size_t n = 1u + random % sizeof frame;
    uint8_t *exact = malloc(n);
    assert_non_null(exact);
    for (unsigned k = 0; k < 4u; k++) {
      random = random * 1664525u + 1013904223u;
      frame[(random >> 16) % sizeof frame] = (uint8_t)(random >> 8);
    }
    memcpy(exact, frame, n); /* the sanitizer sees a read beyond what was given */
    const struct net_result got = net_input(&device, exact, n);
    if (got.kind == NET_DATAGRAM) {
      assert_true(got.payload >= exact && got.payload + got.length <= exact + n);
    }
    free(exact);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_datagram_arrives_and_its_sender_gets_the_answer),
      cmocka_unit_test(test_headers_are_those_of_the_standard),
      cmocka_unit_test(test_one_wrong_bit_is_refused_wherever_a_checksum_covers_it),
      cmocka_unit_test(test_arp_requests_for_us_are_answered_and_no_others),
      cmocka_unit_test(test_frames_of_any_length_and_content_do_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
