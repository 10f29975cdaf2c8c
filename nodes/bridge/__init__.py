"""Between frames and topics, without ROS: the device's configuration, counts to joint motion, set-points to laws."""
