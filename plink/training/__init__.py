"""What a training job tells about itself: its iterations."""
